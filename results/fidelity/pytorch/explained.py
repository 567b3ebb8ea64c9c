#!/usr/bin/env python3
"""Every real run of PyTorch read, predicted, compared, explained and advised by commands, in one table.

    explained.py PLUMBLINE RUNS [--calibrate 1f1b,zb-h1] > explained.md

For each run of RUNS (folders as for score.py): `trace` reads it; `simulate --profile` predicts it from the trace of the
first of the --calibrate runs of its group (from that run itself where it is the only one); `compare --json` lays the
traces over the prediction and splits the error, and the parts must add up to it to the nanosecond; `advise` names the
fastest schedule from this run alone. Any command that fails ends the script.
"""
import argparse
import json
import pathlib
import tempfile

from advised import advised_step
from score import CLASSES, Run, plumbline

HEAD = """# Every run read, predicted, compared, explained and advised

Written by `results/fidelity/pytorch/explained.py PLUMBLINE RUNS > results/fidelity/pytorch/explained.md` ([README](README.md)). Times are in ms, errors
prediction less measurement. *Model* and *noise* are the two shares of the error of the traced step; the parts behind them are both together, with the
model's share in parentheses ([how](../../../sim/comparison/ERROR_SPLIT.md)). *Advised* is what `plumbline advise` puts first from this run alone.
"""
PARTS = ("durations", "host", "messages", "waits", "order")


def milliseconds(ns):
    return f"{ns / 1e6:.1f}"


def signed(ns):
    return f"{ns / 1e6:+.1f}" if ns else "0"


def predict(program, run, profile, path):
    if run.order.exists():
        words = ["simulate", run.order, "--runtime", "pytorch"]
    else:
        words = ["simulate", CLASSES[run.schedule], "-p", run.ranks, "-m", run.microbatches, "--runtime", "pytorch-single"]
    plumbline(program, *words, "--profile", profile, "--json", path)


def check_split(run, comparison):
    """The parts of the error by name, (model, noise) in ns. Raises where they do not add up to the error exactly."""
    split = comparison.get("split")
    if split is None:
        raise SystemExit(f"{run.name}: compare did not split the error")
    parts = {part["part"]: (part["model_ns"], part["noise_ns"]) for part in split["parts"]}
    model, noise = (sum(part[k] for part in parts.values()) for k in (0, 1))
    error = split["predicted_ns"] - split["measured_ns"]
    if model != split["model_ns"] or noise != split["noise_ns"] or model + noise != error:
        raise SystemExit(f"{run.name}: the parts add up to {model + noise} ns, the error is {error} ns")
    return split, parts


def advice_text(program, run):
    """The advised schedule with its gain, and the answer as a whole."""
    advice = json.loads(plumbline(program, "advise", *run.traces, "--json", "-"))
    best = advice["schedules"][0]
    ties = sum(row["ties"] for row in advice["schedules"]) - 1
    text = "its own" if best["this_run"] else f"{best['schedule']} ({100 * best['saves']:+.1f} %)"
    return text + (f", {ties} tie" + ("s" if ties > 1 else "") if ties else ""), advice


def named_text(advice, of_group):
    """Which of the measured schedules the advice puts first, and how far that one was behind the fastest of them."""
    found = {run: advised_step(advice, run) for run in of_group}
    found = {run: row for run, row in found.items() if row}
    named = min(found, key=lambda run: found[run]["step_ns"])
    fastest = min(found, key=lambda run: run.measured)
    if named is fastest:
        return f"{named.schedule}: the fastest"
    noise = ", within its noise" if named.low <= fastest.high else ""
    return f"{named.schedule}: {100 * (named.measured / fastest.measured - 1):.1f} % behind {fastest.schedule}{noise}"


def explain(program, run, runs, base, folder):
    profile, predicted, measured = (folder / name for name in ("profile.json", "predicted.json", "measured.json"))
    plumbline(program, "trace", *base.traces, "--summary", "--profile", profile)
    plumbline(program, "trace", *run.traces, "--summary", "--output", measured)
    predict(program, run, profile, predicted)
    comparison = json.loads(plumbline(program, "compare", predicted, *run.traces, "--json", "-"))
    split, parts = check_split(run, comparison)
    advised, advice = advice_text(program, run)
    named = named_text(advice, [other for other in runs if other.group == run.group])
    facts = json.loads(measured.read_text())["traced"]
    calm = len(facts["step_ns"]) - len(facts["disturbed_steps"])
    cells = [f"`{run.name}`", base.schedule, f"{calm} of {len(facts['step_ns'])}", milliseconds(run.measured),
             milliseconds(split["measured_ns"]), milliseconds(split["predicted_ns"]),
             f"{100 * (split['predicted_ns'] / split['measured_ns'] - 1):+.1f} %",
             f"{100 * (split['predicted_ns'] / run.measured - 1):+.1f} %", signed(split["model_ns"]), signed(split["noise_ns"])]
    cells += [signed(sum(parts.get(part, (0, 0)))) + (f" ({signed(parts[part][0])})" if part in parts else "") for part in PARTS]
    print("| " + " | ".join(cells + [advised, named]) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("plumbline")
    parser.add_argument("runs")
    parser.add_argument("--calibrate", default="1f1b,zb-h1")
    options = parser.parse_args()
    runs = [Run(document.parent) for document in sorted(pathlib.Path(options.runs).glob("**/run.json"))]
    print(HEAD)
    print("| run | profile from | calm traced steps | step without profiler, ms | traced step, ms | predicted, ms | error of the traced step | "
          "error of the step without profiler | model, ms | noise, ms | durations (model) | host (model) | messages (model) | waits (model) | "
          "order (model) | advised (saves) | of the measured ones it names |\n|---|---|---|" + "---:|" * 12 + "---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for run in runs:
            of_group = {other.schedule: other for other in runs if other.group == run.group}
            base = next(of_group[name] for name in options.calibrate.split(",") if name in of_group)
            explain(options.plumbline, run, runs, base, pathlib.Path(folder))
    print(f"\nAll {len(runs)} runs were read, predicted, compared and advised; in each the parts of the error add up to it to the nanosecond.")


if __name__ == "__main__":
    main()
