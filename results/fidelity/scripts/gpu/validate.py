#!/usr/bin/env python3
"""Runs the parts of results/fidelity/scripts/gpu/validate.sh one after the other, each within its time; one that fails does not stop the next.

Whatever happens, even if the machine is taken away, $OUT has every result so far: journal.jsonl (a line per finished thing) with
timelines.tar (its files), log.txt (all commands and what they said), clocks.csv, summary.txt (a line per part) and the tables.
"""
import argparse
import contextlib
import os
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from fidelity.bench import Bench, OutOfTime  # noqa: E402
from fidelity.pack import Pack  # noqa: E402
from gpu import dnn_parts, first_minutes, later_parts  # noqa: E402
from gpu.situation import Situation  # noqa: E402

# In order: name, seconds on a GPU at most, what to do. The first six decide how the others run.
PARTS = (
    ("machine", 15, first_minutes.machine), ("groups", 60, first_minutes.groups), ("kernels", 130, first_minutes.kernels),
    ("oracle", 80, first_minutes.oracle), ("bits", 60, first_minutes.bits), ("modes", 60, first_minutes.modes),
    ("catalogue", 330, later_parts.catalogue), ("fidelity", 450, later_parts.fidelity), ("attention", 150, dnn_parts.attention),
    ("convolutions", 150, dnn_parts.convolutions), ("speed", 240, later_parts.speed),
    ("torch", 330, later_parts.torch), ("contention", 150, later_parts.contention), ("probe", 150, later_parts.probe),
)
MOST_FAILURES = 2  # of a part over all calls; --only runs it all the same
LEAST_S = 10  # for a part to begin


def arguments():
    parser = argparse.ArgumentParser(prog="validate.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="every part on the CPU back end, in under a minute")
    parser.add_argument("--program", default="", help="plumbline (default: that of build/gpu, build/release or build/dev)")
    parser.add_argument("--out", default="results-gpu", help="folder for results, where $OUT is not set")
    parser.add_argument("--pack", default="", help="keep all results in this file, too, and go on from what it holds (.tgz)")
    parser.add_argument("--only", default="", help=f"parts of {','.join(name for name, _, _ in PARTS)}")
    parser.add_argument("--seconds", type=float, default=530, help="all the time there is")
    given = parser.parse_args()
    if not os.access(given.program, os.X_OK) or not os.path.isfile(given.program):
        refuse(f"no program '{given.program}', expected one from results/fidelity/scripts/gpu/bundle.sh or --program FILE")
    unknown = set(filter(None, given.only.split(","))) - {name for name, _, _ in PARTS}
    if unknown:
        refuse(f"--only: unknown part '{sorted(unknown)[0]}', expected some of {', '.join(name for name, _, _ in PARTS)}")
    return given


def refuse(text):
    print(f"validate.sh: {text}", file=sys.stderr)
    sys.exit(2)


def finished(bench, name):
    lines = [line for line in bench.journal.all("part") if line["name"] == name]
    return bool(lines) and (lines[-1]["status"] == "ok" or sum(line["status"] == "failed" for line in lines) >= MOST_FAILURES)


def run_part(bench, situation, name, limit, do):
    """Returns "ok", "failed" or "out of time"."""
    bench.part_deadline = time.monotonic() + limit
    try:
        return "ok" if do(bench, situation) else "failed"
    except OutOfTime:
        return "out of time"
    except Exception as error:  # whatever it is, the next part still has its time
        bench.say(f"{name}: {type(error).__name__}: {error}")
        return "failed"


def run_parts(bench, situation, only):
    failures = 0
    for name, limit, do in PARTS:
        if (only and name not in only) or (not only and finished(bench, name)):
            continue
        begin = time.monotonic()
        enough = bench.deadline - begin >= LEAST_S
        status = run_part(bench, situation, name, limit, do) if enough else "no time left"
        failures += status != "ok"
        if enough:
            bench.journal.add("part", name, status=status, seconds=round(time.monotonic() - begin, 1))
        line = f"{name:<12} {time.monotonic() - begin:4.0f} s  {status}"
        print(line, flush=True)
        with open(bench.out / "summary.txt", "a") as file:
            file.write(line + "\n")
    return failures


def main():
    given = arguments()
    only = list(filter(None, given.only.split(",")))
    out = given.out if given.pack else os.environ.get("OUT") or given.out
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Pack(given.pack, out) if given.pack else contextlib.nullcontext():
        bench = Bench(given.program, out, given.seconds)
        try:
            failures = run_parts(bench, Situation(bench, given.dry_run, HERE), only)
        finally:
            bench.close()
    print(f"{failures} parts failed; results in {given.pack or bench.out}")
    return 3 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
