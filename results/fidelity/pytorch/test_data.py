#!/usr/bin/env python3
"""Writes the data of the tests that hold predictions and advice against real runs of PyTorch.

    test_data.py PLUMBLINE RUNS tests/sim/traces/data/groups

RUNS are as for score.py. Written are, for every group, the profiles of its zb-h1 and 1f1b runs, of its run that is
advised from the timeline of a traced step and its profile, every order once (with transfers, as PyTorch dumped it), and
measured.csv: the middle of the steps that ran without profiler, of each run.
"""
import argparse
import gzip
import json
import pathlib
import tempfile

from score import Run, plumbline

CALIBRATE = ("zb-h1", "1f1b")
ADVISE_FROM = ("1f1b", "1F1B")


def profile_of(program, run, folder):
    path = folder / "profile.json"
    plumbline(program, "trace", *run.traces, "--summary", "--profile", path)
    return path.read_bytes()


def timeline_of(program, run, folder):
    path = folder / "timeline.json"
    plumbline(program, "trace", *run.traces, "--output", path)
    return path.read_bytes()


def pack(data):
    return gzip.compress(data, 9, mtime=0)


def write_orders(runs, folder):
    """One file for all runs of the same order; returns the file of each run."""
    written, file_of = {}, {}
    for run in runs:
        if not run.order.exists():
            continue
        text = run.order.read_bytes()
        name = written.setdefault(text, f"{run.schedule}-p{run.ranks}-m{run.microbatches}.csv")
        (folder / name).write_bytes(text)
        file_of[run.name] = name
    return file_of


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("plumbline")
    parser.add_argument("runs")
    parser.add_argument("data")
    options = parser.parse_args()
    data = pathlib.Path(options.data)
    data.mkdir(parents=True, exist_ok=True)
    runs = [Run(document.parent) for document in sorted(pathlib.Path(options.runs).glob("**/run.json"))]
    orders = write_orders(runs, data)
    rows = ["group,schedule,ranks,microbatches,stages,order,low_ns,median_ns,high_ns"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for group in dict.fromkeys(run.group for run in runs):
            of_group = {run.schedule: run for run in runs if run.group == group}
            for name in CALIBRATE:
                if name in of_group:
                    (data / f"{group}-{name}.profile.json").write_bytes(profile_of(options.plumbline, of_group[name], folder))
            own = next(of_group[name] for name in ADVISE_FROM if name in of_group)
            (data / f"{group}-run.profile.json").write_bytes(profile_of(options.plumbline, own, folder))
            (data / f"{group}-run.timeline.json.gz").write_bytes(pack(timeline_of(options.plumbline, own, folder)))
            for run in of_group.values():
                stages = len(json.loads((run.folder / "run.json").read_text())["stage_to_rank"])
                rows.append(f"{group},{run.schedule},{run.ranks},{run.microbatches},{stages},{orders.get(run.name, '')},"
                            f"{run.low},{run.measured:.0f},{run.high}")
    (data / "measured.csv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
