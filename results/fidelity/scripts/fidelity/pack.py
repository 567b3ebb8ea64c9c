"""A folder of results in one file, for machines that give back only a few."""
import io
import os
import pathlib
import tarfile
import threading

EVERY_S = 20


class Pack:
    """Unpacks `file`, where it is there, into `folder`; writes it anew every EVERY_S seconds and at the end of the `with`. It is always whole."""

    def __init__(self, file, folder):
        self.file, self.folder = pathlib.Path(file), pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.file.exists():
            with tarfile.open(self.file) as archive:
                for member in archive.getmembers():
                    if member.isfile():
                        (self.folder / pathlib.PurePath(member.name).name).write_bytes(archive.extractfile(member).read())
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._write_again_and_again, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()
        self.write()

    def _write_again_and_again(self):
        while not self.stopped.wait(EVERY_S):
            self.write()

    def write(self):
        unfinished = self.file.with_name(self.file.name + ".unfinished")
        with tarfile.open(unfinished, "w:gz", compresslevel=1) as archive:
            for path in sorted(self.folder.iterdir()):
                if path.is_file():
                    content = path.read_bytes()  # as long as it is now: others append to it
                    info = archive.gettarinfo(path, path.name)
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
        os.replace(unfinished, self.file)
