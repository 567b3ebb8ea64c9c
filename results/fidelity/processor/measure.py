#!/usr/bin/env python3
"""How far predictions are from runs whose devices have the processor time of their threads for a clock.

    measure.py demo PLUMBLINE OUT [--demos 5] [--load 2] [--clock processor|wall]
    measure.py catalogue PLUMBLINE OUT [--rounds 3]

`demo` runs `plumbline demo` several times, with so many programs beside it that always compute, and prints the median error of
each schedule. `catalogue` trains with every synchronous schedule on 8 devices, and predicts each from one profile of its number of
stages. Every round measures the profiles anew, and the median error of the rounds counts. Runs that are in OUT already are kept.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

DEVICES, MICROBATCHES, UPDATES, NETWORK = 8, 16, 4, "gpt-mini"
SIZE = ["-p", str(DEVICES), "-m", str(MICROBATCHES), "--updates", str(UPDATES)]
BUSY = "while True: pass"


def step_of(document):
    return json.loads(document.read_text())["step_time_ns"]


def error_of(predicted, measured):
    return step_of(predicted) / step_of(measured) - 1


def percent(share):
    return f"{100 * share:+.1f} %"


def demo_errors(folder):
    """Of each schedule of a demo: the prediction against the middle run."""
    errors = {}
    for predicted in sorted(folder.glob("*.predicted.json")):
        name = predicted.name.split(".")[0]
        steps = [step_of(run) for run in folder.glob(f"{name}.measured*.json")]
        errors[name] = step_of(predicted) / statistics.median_low(steps) - 1
    return errors


def demos(given):
    words = ["--clock", given.clock] + (["-p", "2"] if given.clock == "wall" else [])
    load = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(given.load)]
    try:
        found, loads, seconds = [], [], []
        for number in range(given.demos):
            folder = given.out / f"{given.clock}-{given.load}-{number}"
            if not (folder / "report.html").exists():
                begin = time.monotonic()
                subprocess.run([given.plumbline, "demo", *words, "-o", folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                seconds.append(time.monotonic() - begin)
                loads.append(os.getloadavg()[0])
            found.append(demo_errors(folder))
    finally:
        for program in load:
            program.kill()
    print(f"{given.demos} demos by the clock {given.clock}, {given.load} programs beside them"
          + (f", load average {min(loads):.0f} to {max(loads):.0f}, {min(seconds):.0f} to {max(seconds):.0f} s each" if loads else ""))
    print("| schedule | median error | least | most |\n|---|---:|---:|---:|")
    for name in found[0]:
        errors = [one[name] for one in found]
        print(f"| {name} | {percent(statistics.median(errors))} | {percent(min(errors))} | {percent(max(errors))} |")


def synchronous_schedules(program):
    listed = json.loads(subprocess.run([program, "schedules", "--json"], capture_output=True, text=True, check=True).stdout)
    return [one["name"] for one in listed if one["synchronous"] and not one["alias_of"]]


def made(program, document, *words):
    """Makes a document; returns what went wrong, if anything did."""
    if document.exists():
        return None
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode == 0 and document.exists():
        return None
    return (done.stderr.strip().splitlines() or ["nothing was written"])[-1]


def round_of(given, names, folder):
    """Of each schedule: its error, or why there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for stages in (DEVICES, 2 * DEVICES):
        made(given.plumbline, folder / f"profile-{stages}.json", "profile", "--network", NETWORK, "--stages", stages, "--devices", DEVICES,
             "-m", MICROBATCHES, "--rounds", 1, "--clock", "processor", "-o", folder / f"profile-{stages}.json")
    for name in names:
        run, document = folder / f"{name}.json", folder / f"{name}.predicted.json"
        failed = made(given.plumbline, run, "train", name, *SIZE, "--network", NETWORK, "--clock", "processor", "--json", run)
        for stages in (DEVICES, 2 * DEVICES):
            if failed or document.exists():
                break
            why = made(given.plumbline, document, "simulate", name, *SIZE, "--profile", folder / f"profile-{stages}.json", "--json", document)
        found[name] = failed or (error_of(document, run) if document.exists() else why)
    return found


def catalogue(given):
    names = synchronous_schedules(given.plumbline)
    rounds = [round_of(given, names, given.out / f"round{number}") for number in range(given.rounds)]
    measured = {name: [one[name] for one in rounds] for name in names if all(isinstance(one[name], float) for one in rounds)}
    medians = {name: statistics.median(errors) for name, errors in measured.items()}
    print("| schedule | error | least | most |\n|---|---:|---:|---:|")
    for name, error in sorted(medians.items(), key=lambda item: -abs(item[1])):
        print(f"| {name} | {percent(error)} | {percent(min(measured[name]))} | {percent(max(measured[name]))} |")
    print(f"\n{len(medians)} schedules, {given.rounds} rounds: mean error {100 * statistics.mean(map(abs, medians.values())):.1f} %, "
          f"within 3 %: {sum(abs(error) <= 0.03 for error in medians.values())}\n")
    for name in names:
        if name not in medians:
            print(f"* not measured: {name}: {rounds[0][name]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["demo", "catalogue"])
    parser.add_argument("plumbline")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--demos", type=int, default=5)
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--clock", choices=["processor", "wall"], default="processor")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    demos(given) if given.what == "demo" else catalogue(given)


if __name__ == "__main__":
    main()
