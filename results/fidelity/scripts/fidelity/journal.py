"""What has been done so far, kept so that nothing finished is lost when everything is killed.

`journal.jsonl` has one line of JSON per finished thing; a line is written by one call and reaches the disk before the next thing begins.
`timelines.tar` has the files that belong to the lines, each packed with gzip and appended before its line is written, so that a line
never names a file that is not whole. Whatever lies behind the last line that is whole was cut short: it is dropped when the folder is opened again.
"""
import gzip
import io
import json
import os
import pathlib
import tarfile

BLOCK = 512  # of tar


class Journal:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path, self.archive = self.folder / "journal.jsonl", self.folder / "timelines.tar"
        self.lines = read_lines(self.path)
        self._drop_what_was_cut_short()

    def _drop_what_was_cut_short(self):
        whole = b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)
        if self.path.exists() and self.path.stat().st_size != len(whole):
            os.truncate(self.path, len(whole))
        end = max((place[0] + place[1] for line in self.lines for place in line.get("files", {}).values()), default=0)
        if self.archive.exists() and self.archive.stat().st_size > rounded(end):
            os.truncate(self.archive, rounded(end))

    def find(self, kind, name):
        """The last line of this kind and name, or None."""
        return next((line for line in reversed(self.lines) if line["kind"] == kind and line["name"] == name), None)

    def all(self, kind):
        return [line for line in self.lines if line["kind"] == kind]

    def add(self, kind, name, files=None, **values):
        """Appends a line, and before it its `files` (name in the archive: path or text)."""
        places = {member: self._pack(member, content) for member, content in (files or {}).items()}
        line = {"kind": kind, "name": name, **({"files": places} if places else {}), **values}
        append(self.path, json.dumps(line).encode() + b"\n")
        self.lines.append(line)
        return line

    def _pack(self, member, content):
        raw = content.encode() if isinstance(content, str) else pathlib.Path(content).read_bytes()
        packed = gzip.compress(raw, mtime=0)
        info = tarfile.TarInfo(member + ".gz")
        info.size = len(packed)
        begin = self.archive.stat().st_size if self.archive.exists() else 0
        append(self.archive, info.tobuf(tarfile.USTAR_FORMAT) + packed + bytes(-len(packed) % BLOCK))
        return [begin + BLOCK, len(packed)]

    def read(self, line, member):
        """The text of a file that belongs to `line`."""
        begin, size = line["files"][member]
        with open(self.archive, "rb") as file:
            file.seek(begin)
            return gzip.GzipFile(fileobj=io.BytesIO(file.read(size))).read().decode()

    def document(self, line, member):
        return json.loads(self.read(line, member))


def rounded(size):
    return -(-size // BLOCK) * BLOCK


def append(path, data):
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        while data:
            data = data[os.write(handle, data):]
        os.fsync(handle)
    finally:
        os.close(handle)


def read_lines(path):
    """The whole lines of a journal; reading ends at the first that is not."""
    lines = []
    if pathlib.Path(path).exists():
        for text in pathlib.Path(path).read_bytes().split(b"\n")[:-1]:
            try:
                lines.append(json.loads(text))
            except ValueError:
                break
    return lines
