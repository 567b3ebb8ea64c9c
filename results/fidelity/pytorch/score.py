#!/usr/bin/env python3
"""Predicts real runs of PyTorch from the trace of one run of their group, and says how far off that is.

    score.py PLUMBLINE RUNS [--calibrate 1f1b,zb-h1] [--details]

Folders GROUP-SCHEDULE in RUNS have `run.json`, `lowered.csv` and `rank*.json.gz` (README.md says how they were made). For
every group and every run in it that --calibrate names, the profile of that run's trace predicts all other runs of the
group, each from the order that PyTorch itself dumped; the classes 1F1B and GPipe, which dump none, from Plumbline's
schedules of these names under `--runtime pytorch-single`. Measured is the median of the steps that ran without profiler.
"""
import argparse
import itertools
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

CLASSES = {"1F1B": "1f1b", "GPipe": "torch-gpipe"}


class Run:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        self.group, self.schedule = re.match(r"(p\w+?-[a-z0-9]+)-(.*)$", folder.name).groups()
        document = json.loads((folder / "run.json").read_text())
        self.ranks, self.microbatches = document["run"]["ranks"], document["run"]["microbatches"]
        self.steps = sorted(document["step_ns"])
        self.measured = statistics.median(self.steps)
        quarter = len(self.steps) // 4
        self.low, self.high = self.steps[quarter], self.steps[-1 - quarter]
        self.traces = sorted(folder.glob("rank*.json.gz"))
        self.order = folder / "lowered.csv"


def plumbline(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def predicted_ns(program, run, profile):
    if run.order.exists():
        words = ["simulate", run.order, "--runtime", "pytorch"]  # also where the profile is of a class
    else:
        words = ["simulate", CLASSES[run.schedule], "-p", run.ranks, "-m", run.microbatches, "--runtime", "pytorch-single"]
    return json.loads(plumbline(program, *words, "--profile", profile, "--summary", "--json", "-"))["makespan_ns"]


def wrong_pairs(runs, predicted):
    """Pairs predicted more than 2 % apart whose middle halves of steps do not overlap: how many, and how many are in the
    wrong order."""
    wrong, all_pairs = [], 0
    for a, b in itertools.combinations(runs, 2):
        near, far = sorted((predicted[a.name], predicted[b.name]))
        if far <= 1.02 * near or not (a.high < b.low or b.high < a.low):
            continue
        all_pairs += 1
        if (predicted[a.name] < predicted[b.name]) != (a.measured < b.measured):
            wrong.append(f"{a.schedule}/{b.schedule}")
    return wrong, all_pairs


def score(program, runs, base, details):
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "profile.json"
        plumbline(program, "trace", *base.traces, "--summary", "--profile", profile)
        predicted = {run.name: predicted_ns(program, run, profile) for run in runs}
    errors = {run.schedule: predicted[run.name] / run.measured - 1 for run in runs if run is not base}
    others = [run for run in runs if run is not base]
    wrong, pairs = wrong_pairs(others, predicted)
    worst = max(errors, key=lambda name: abs(errors[name]))
    row = [f"{base.group} ({len(others)})", base.schedule, f"{100 * statistics.mean(map(abs, errors.values())):.1f} %",
           f"{100 * errors[worst]:+.1f} % ({worst})", f"{100 * (predicted[base.name] / base.measured - 1):+.1f} %",
           f"{len(wrong)} of {pairs}" + (f" ({', '.join(wrong)})" if wrong else "")]
    print("| " + " | ".join(row) + " |", flush=True)
    for name, error in errors.items() if details else []:
        print(f"    {name:20} {100 * error:+6.1f} %")
    return list(map(abs, errors.values()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plumbline")
    parser.add_argument("runs")
    parser.add_argument("--calibrate", default="1f1b,zb-h1")
    parser.add_argument("--details", action="store_true")
    options = parser.parse_args()
    runs = [Run(document.parent) for document in sorted(pathlib.Path(options.runs).glob("**/run.json"))]
    print("| group (predicted runs) | calibrated from | mean error | worst | the run itself | wrong order |\n|---|---|---:|---:|---:|---|")
    errors = []
    for group in dict.fromkeys(run.group for run in runs):
        of_group = [run for run in runs if run.group == group]
        for base in of_group:
            if base.schedule in options.calibrate.split(","):
                errors += score(options.plumbline, of_group, base, options.details)
    print(f"| all ({len(errors)}) | | {100 * statistics.mean(errors):.1f} % | {100 * max(errors):.1f} % | | |")


if __name__ == "__main__":
    main()
