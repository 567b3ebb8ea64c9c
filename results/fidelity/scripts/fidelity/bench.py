"""Where commands are run: each within a limit, none outliving this process, everything they say appended to `log.txt` as they say it."""
import ctypes
import os
import pathlib
import shlex
import signal
import subprocess
import tempfile
import time

from fidelity.clocks import ClockLog
from fidelity.journal import Journal

DIES_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG
LIBC = ctypes.CDLL(None)
LEAST_WATCHDOG_S, MOST_WATCHDOG_S = 4, 15


class OutOfTime(Exception):
    """The time that was given is over; what is finished is in the journal."""


class Done:
    """What became of a command: `status` as the shell counts it (124: out of time), `text` of standard output, `seconds`, and from when to when."""

    def __init__(self, status, text, begin, end):
        self.status, self.text, self.begin, self.end = status, text, begin, end
        self.seconds = end - begin

    @property
    def fine(self):
        return self.status == 0


class Bench:
    """`program` is plumbline, `out` the folder that comes back, `seconds` all the time there is."""

    def __init__(self, program, out, seconds=1e9):
        self.program, self.out = str(program), pathlib.Path(out).resolve()
        self.journal = Journal(self.out)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="plumbline-"))
        self.deadline = time.monotonic() + seconds
        self.part_deadline = self.deadline
        self.clocks = ClockLog(self.out / "clocks.csv")
        self.log = open(self.out / "log.txt", "ab", buffering=0)
        self.running = None
        self.prefix = []  # of every command of plumbline, such as one that gives it priority

    def left(self):
        return min(self.deadline, self.part_deadline) - time.monotonic()

    def say(self, text):
        print(text, flush=True)
        self.log.write((text + "\n").encode())

    def run(self, words, limit=60, environment=None):
        """Runs a command for at most `limit` seconds and not beyond the part's end. Raises OutOfTime when there is none left to begin."""
        limit = min(limit, self.left() - 1)
        if limit < 2:
            raise OutOfTime
        words = [str(word) for word in words]
        self.log.write(("+ " + shlex.join(words) + "\n").encode())
        begin = time.time()
        with tempfile.TemporaryFile() as output:
            self.running = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=self.log, env={**os.environ, **(environment or {})},
                                            start_new_session=True, preexec_fn=lambda: LIBC.prctl(DIES_WITH_PARENT, signal.SIGKILL))
            try:
                status = self.running.wait(limit)
            except subprocess.TimeoutExpired:
                self.stop_running()
                status = 124
            output.seek(0)
            text = output.read().decode(errors="replace")
        self.running = None
        self.log.write(text.encode() if len(text) < 4000 else f"({len(text)} characters)\n".encode())
        if status:
            self.log.write(f"(exit status {status} after {time.time() - begin:.1f} s)\n".encode())
        return Done(status, text, begin, time.time())

    def plumbline(self, *words, limit=60, environment=None):
        return self.run([*self.prefix, self.program, *words], limit, environment)

    def watchdog(self, limit=60):
        """Seconds without progress after which a run on streams names what hangs: well below the limit at which it is killed without a word."""
        return ["--watchdog", f"{max(LEAST_WATCHDOG_S, min(MOST_WATCHDOG_S, min(limit, self.left()) / 2)):.0f}"]

    def stop_running(self):
        if self.running is not None:
            try:
                os.killpg(self.running.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.running.wait()

    def close(self):
        self.stop_running()
        self.clocks.stop()
        for path in sorted(self.work.rglob("*"), reverse=True):
            path.unlink() if not path.is_dir() else path.rmdir()
        self.work.rmdir()
