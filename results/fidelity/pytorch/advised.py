#!/usr/bin/env python3
"""Holds `plumbline advise` against real runs of PyTorch: from each run of a group alone, what it says of the others.

    advised.py PLUMBLINE RUNS [--from 1f1b,1F1B,zb-h1]

RUNS are as for score.py. A step is advised for the run's traced steps, which the profiler makes longer; so it is scaled by
the run's median without profiler over its traced steps. *Named* is the fastest of the measured schedules by the advice.
"""
import argparse
import json
import pathlib
import statistics

from score import Run, plumbline

NAMES = {"1F1B": ["1f1b"], "GPipe": ["torch-gpipe", "gpipe"], "Interleaved1F1B": ["interleaved", "torch-interleaved"],
         "ZBVZeroBubble": ["torch-zbv", "zb-v"], "DualPipeV": ["torch-dualpipev", "dualpipev"]}


def advised_step(advice, run):
    """The advised schedule that a run is of, or None."""
    stages = json.loads((run.folder / "run.json").read_text())["stage_to_rank"]
    per_rank = len(stages) // run.ranks
    for name in NAMES.get(run.schedule, [run.schedule]):
        for row in advice["schedules"]:
            if row["schedule"] == name and row["stages_per_device"] == per_rank:
                return row
    return None


def judge(program, base, runs):
    advice = json.loads(plumbline(program, "advise", *base.traces, "--json", "-"))
    scale = base.measured / advice["measured_step_ns"]
    rows = {run.schedule: (run, advised_step(advice, run)) for run in runs}
    found = {name: pair for name, pair in rows.items() if pair[1]}
    errors = {name: scale * row["step_ns"] / run.measured - 1 for name, (run, row) in found.items() if run is not base}
    inside = sum(scale * row["low_ns"] <= run.high and run.low <= scale * row["high_ns"]
                 for run, row in found.values() if run is not base)
    named = min(found, key=lambda name: found[name][1]["step_ns"])
    fastest = min((run for run, _ in found.values()), key=lambda run: run.measured)
    behind = found[named][0].measured / fastest.measured - 1
    overlaps = found[named][0].low <= fastest.high
    verdict = "the fastest" if behind == 0 else f"{100 * behind:.1f} % behind {fastest.schedule}" + (
        ", within its noise" if overlaps else "")
    worst = max(errors, key=lambda name: abs(errors[name]))
    print(f"| {base.group} ({len(errors)}) | {base.schedule} | {100 * statistics.mean(map(abs, errors.values())):.1f} % | "
          f"{100 * errors[worst]:+.1f} % ({worst}) | {inside} of {len(errors)} | {named}: {verdict} |", flush=True)
    return [abs(error) for error in errors.values()], inside, behind == 0 or overlaps


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("plumbline")
    parser.add_argument("runs")
    parser.add_argument("--from", dest="bases", default="1f1b,1F1B,zb-h1")
    options = parser.parse_args()
    runs = [Run(document.parent) for document in sorted(pathlib.Path(options.runs).glob("**/run.json"))]
    print("| group (advised runs) | from | mean error | worst | interval meets the middle half of steps | named |\n"
          "|---|---|---:|---:|---:|---|")
    errors, inside, right, asked = [], 0, 0, 0
    for base in runs:
        if base.schedule not in options.bases.split(","):
            continue
        of_group = [run for run in runs if run.group == base.group]
        more, within, named = judge(options.plumbline, base, of_group)
        errors, inside, right, asked = errors + more, inside + within, right + named, asked + 1
    print(f"| all ({len(errors)}) | | {100 * statistics.mean(errors):.1f} % | {100 * max(errors):.1f} % | "
          f"{inside} of {len(errors)} | {right} of {asked} right or within noise |")


if __name__ == "__main__":
    main()
