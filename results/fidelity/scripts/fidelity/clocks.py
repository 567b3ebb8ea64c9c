"""Clock, power and load of the machine, several times a second, beside everything that runs: `clocks.csv`.

A row: seconds since 1970, MHz of the multiprocessors (without a GPU: of the first processor), watts (0 where nobody knows), load average.
"""
import datetime
import pathlib
import shutil
import statistics
import subprocess
import threading
import time

EVERY_MS = 200
QUERY = ["nvidia-smi", "--query-gpu=timestamp,clocks.sm,power.draw", "--format=csv,noheader,nounits", "-i", "0", "-lms", str(EVERY_MS)]


class ClockLog:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1)
        self.stopped = threading.Event()
        self.source = None
        if shutil.which("nvidia-smi"):
            self.source = subprocess.Popen(QUERY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
        self.thread = threading.Thread(target=self._from_driver if self.source else self._from_processor, daemon=True)
        self.thread.start()

    def _from_driver(self):
        for line in self.source.stdout:
            row = driver_row(line)
            if row and not self.stopped.is_set():
                self._write(*row)

    def _from_processor(self):
        while not self.stopped.wait(EVERY_MS / 1000):
            self._write(time.time(), processor_mhz(), 0)

    def _write(self, moment, mhz, watts):
        self.file.write(f"{moment:.3f},{mhz:.0f},{watts:.1f},{load_average():.2f}\n")

    def stop(self):
        self.stopped.set()
        if self.source:
            self.source.terminate()
            self.source.wait()
        self.thread.join(2)
        self.file.close()


def driver_row(line):
    """(seconds since 1970, MHz, watts) of a line of nvidia-smi; None where it says something else. Its watts may be "[N/A]"."""
    words = [word.strip() for word in line.split(",")]
    try:
        moment = datetime.datetime.strptime(words[0], "%Y/%m/%d %H:%M:%S.%f").timestamp()
        return moment, float(words[1]), float(words[2]) if words[2][0].isdigit() else 0.0
    except (ValueError, IndexError):
        return None


def processor_mhz():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
        return float(text.split("cpu MHz", 1)[1].split(":", 1)[1].split("\n", 1)[0])
    except (OSError, IndexError, ValueError):
        return 0.0


def load_average():
    try:
        return float(pathlib.Path("/proc/loadavg").read_text().split()[0])
    except OSError:
        return 0.0


def read_rows(path):
    rows = []
    for line in pathlib.Path(path).read_text().split("\n")[:-1] if pathlib.Path(path).exists() else []:
        try:
            moment, mhz, watts, load = map(float, line.split(","))
        except ValueError:
            continue  # cut short by a kill
        rows.append((moment, mhz, watts, load))
    return rows


def clock_between(rows, begin, end):
    """Median MHz of the busy moments between two times, those with at least the mean power; None where fewer than three are known."""
    inside = [(mhz, watts) for moment, mhz, watts, _ in rows if begin <= moment <= end and mhz > 0]
    if len(inside) < 3:
        return None
    mean_power = statistics.fmean(watts for _, watts in inside)
    return statistics.median(mhz for mhz, watts in inside if watts >= mean_power)


def strays(clocks, most=0.005):
    """Which of these clocks (None: not known) lie further than `most` from their median."""
    known = [clock for clock in clocks if clock]
    middle = statistics.median(known) if known else 0
    return [bool(clock) and abs(clock / middle - 1) > most for clock in clocks]
