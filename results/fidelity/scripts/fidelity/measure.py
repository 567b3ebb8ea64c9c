#!/usr/bin/env python3
"""Runs a fidelity experiment and writes its table.

    measure.py PROGRAM EXPERIMENT OUT [--quick] [--seconds N] [--table | --catalogue] [--flags "..."]

EXPERIMENT is a document like cpu.json (EXPERIMENT.md). What is in OUT already is not run again, so a call that was ended, however,
goes on where it stood. --table runs nothing; --catalogue runs every schedule
of the catalogue instead, for its bits and bytes, with the experiment's back end. Exit status 0: all there and within the limits; 3: not.
"""
import argparse
import pathlib
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from fidelity import catalogue  # noqa: E402
from fidelity import experiment as experiments  # noqa: E402
from fidelity import table  # noqa: E402
from fidelity.bench import Bench  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("experiment")
    parser.add_argument("out")
    parser.add_argument("--quick", action="store_true", help="smallest sizes, to see that every line runs")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--table", action="store_true", help="only the table of what is there")
    parser.add_argument("--catalogue", action="store_true", help="the bits and bytes of every schedule")
    parser.add_argument("--flags", default="", help="further options of profile and train")
    given = parser.parse_args()
    try:
        experiment = experiments.Experiment(given.experiment, given.quick, shlex.split(given.flags))
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"measure.py: {error}")
    bench = Bench(given.program, given.out, given.seconds)
    try:
        if given.catalogue:
            complete = catalogue.run_all(bench, [*experiment.flags, *experiment.document["train"]])
            (bench.out / "catalogue.md").write_text(catalogue.text(catalogue.latest(bench)))
            bench.say((bench.out / "catalogue.md").read_text())
            sys.exit(0 if complete and not catalogue.problems(catalogue.latest(bench)) else 3)
        complete = given.table or experiments.measure(experiment, bench)
        fine = table.make(experiment, bench)
        bench.say((bench.out / "fidelity.md").read_text())
    finally:
        bench.close()
    sys.exit(0 if complete and fine else 3)


if __name__ == "__main__":
    main()
