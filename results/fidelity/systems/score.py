#!/usr/bin/env python3
"""Predicts runs of Megatron-LM's and DeepSpeed's own schedules, and says how far off that is.

    score.py PLUMBLINE [RUNS]

Without RUNS, from the profiles and steps that are kept here. With RUNS (what system_runs.py wrote), reads the traces anew and writes
profiles/ and runs.csv. Every run is predicted from its own trace, and from the 1f1b run of its system, number of ranks and size of
messages, under `--runtime` of its system. Measured is the median of ten steps without the profiler.
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def plumbline(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def read_runs(program, plan, folder):
    with open(HERE / "runs.csv", "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["run", "torch", *(f"step {k} (ns)" for k in range(10))])
        for run in plan:
            of_run = folder / run["name"]
            document = json.loads((of_run / "run.json").read_text())
            rows.writerow([run["name"], document["torch"], *document["step_ns"]])
            plumbline(program, "trace", *sorted(of_run.glob("rank*.json.gz")), "--summary", "--profile",
                      HERE / "profiles" / f"{run['name']}.json")


def predicted_ms(program, run, profile):
    answer = plumbline(program, "simulate", "interleaved" if run.get("chunks", 1) > 1 else "1f1b", "-p", run["ranks"], "-m",
                       run["microbatches"], "--profile", HERE / "profiles" / f"{profile}.json", "--runtime",
                       run["system"] + ("" if run.get("overlap", True) else "-batched"), "--json", "-")
    return json.loads(answer)["step_time_ns"] / 1e6


def main():
    program = sys.argv[1]
    plan = json.loads((HERE / "plan.json").read_text())
    if len(sys.argv) > 2:
        read_runs(program, plan, pathlib.Path(sys.argv[2]))
    with open(HERE / "runs.csv") as file:
        steps = {row[0]: [int(ns) for ns in row[2:]] for row in csv.reader(file) if row[0] != "run"}
    print("| run | measured (ms) | steps | from its own trace | from the 1f1b run |\n|---|---:|---:|---:|---:|")
    errors = []
    for run in plan:
        name = run["name"]
        measured = statistics.median(steps[name]) / 1e6
        spread = (max(steps[name]) - min(steps[name])) / 1e6 / measured
        cells = [f"{100 * (predicted_ms(program, run, name) / measured - 1):+.1f} %"]
        base = "-".join(name.split("-")[:3]) + "-1f1b"
        if name != base and "scale" not in run:
            error = predicted_ms(program, run, base) / measured - 1
            errors.append(abs(error))
            cells.append(f"{100 * error:+.1f} %")
        else:
            cells.append("")
        print(f"| `{name}` | {measured:.1f} | ±{50 * spread:.1f} % | {' | '.join(cells)} |")
    print(f"\nmean error from 1f1b {100 * statistics.mean(errors):.1f} %, worst {100 * max(errors):.1f} %, of {len(errors)} runs")


if __name__ == "__main__":
    main()
