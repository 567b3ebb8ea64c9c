#!/usr/bin/env python3
"""results/fidelity/scripts/gpu/validate.sh is killed ten times at random moments of its dry run, and goes on each time where it stood.

    tests/tools/fidelity/kill_test.py SOURCES PROGRAM

After every kill all that the journal calls finished must be there, whole; in the end every part has run, nothing finished twice.
"""
import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

sources, program = map(pathlib.Path, sys.argv[1:3])
sys.path.insert(0, str(sources / "results/fidelity/scripts"))
from fidelity.journal import Journal, read_lines  # noqa: E402

KILLS, LONGEST_S = 10, 2.5


def start(out):
    return subprocess.Popen([sources / "results/fidelity/scripts/gpu/validate.sh", "--dry-run", "--program", program, "--out", out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env={key: value for key, value in os.environ.items() if key != "OUT"})


def check(out):
    """What the journal says is there; returns its lines."""
    lines = read_lines(out / "journal.jsonl")
    members = set()
    try:
        with tarfile.open(out / "timelines.tar") as archive:
            for member in archive:
                members.add(member.name)
    except (FileNotFoundError, tarfile.ReadError):
        pass  # the last member may be cut short; those of the lines are read below
    journal = Journal.__new__(Journal)  # as a reader, without repairing anything
    journal.lines, journal.archive = lines, out / "timelines.tar"
    for line in lines:
        for member in line.get("files", {}):
            assert journal.document(line, member), f"{member} of {line['name']} is not whole"
            assert member + ".gz" in members, f"tar does not list {member}"
    return lines


def main():
    draw = random.Random(time.time_ns() if "--random" in sys.argv else 18)
    with tempfile.TemporaryDirectory() as folder:
        out, before = pathlib.Path(folder) / "out", []
        for number in range(KILLS):
            run = start(out)
            time.sleep(draw.uniform(0.2, LONGEST_S))
            run.send_signal(signal.SIGKILL)
            run.wait()
            lines = check(out)
            assert lines[:len(before)] == before, "a finished thing was lost"
            before = lines
        run = start(out)
        said = run.communicate()[1].decode()
        lines = check(out)
        parts = [line for line in lines if line["kind"] == "part"]
        assert run.returncode == 0 and len({line["name"] for line in parts}) == 14, f"exit status {run.returncode}, parts {parts}\n{said}\n{(out / 'log.txt').read_text()[-3000:]}"
        twice = [key for key, times in collections.Counter((line["kind"], line["name"]) for line in lines if line["kind"] in ("run", "profile", "part")).items() if times > 1]
        assert not twice, f"ran twice: {twice}"
        print(f"{KILLS} kills, {len(lines)} finished things, {sum('files' in line for line in lines)} with files, none lost")


main()
