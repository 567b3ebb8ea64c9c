#!/usr/bin/env python3
"""Predicts runs of our own trainer from the timelines of one of their group, and says how far off that is.

    measure.py PLUMBLINE OUT [--rounds 5] [--only GROUP,GROUP] [--score]

Every round trains every schedule of a group once, so that slow moments of the machine hit all alike. A round in which other
programs took more than 2 % of the time (involuntary switches of the run, each taken for a time slice of 3 ms) is left out, but the
calmest half always counts (rounds of several processes all count: they yield while they ask for messages, which looks like interruptions). As
root everything runs with real-time priority (chrt), because machines are shared. From the runs of one schedule comes a profile (`plumbline trace --profile`), and from it the
step of every other schedule. Where products are real, every round is predicted from its own run, seconds away, and the median of the rounds' errors counts:
the speed of a shared machine drifts by more than is looked for. --score reads the runs that are in OUT already.
"""
import argparse
import itertools
import json
import os
import pathlib
import resource
import statistics
import subprocess
import time

MOST_LOST, SLICE_S = 0.02, 0.003
ONE_CHUNK = ["1f1b", "gpipe", "zb-h1", "2bp", "eager-1f1b"]
TWO_CHUNKS = ["interleaved", "hanayo", "zb-v", "v-half"]


def paced(devices, microbatches, message_ms, factors=None, capacity=0, processes=False, schedules=ONE_CHUNK + TWO_CHUNKS):
    """Stages of 10 ms in F, I and W, times a factor each; messages that take `message_ms`."""
    factors = factors or [1] * devices
    took = lambda ms: {"median": round(1e6 * ms), "p10": round(1e6 * ms), "p90": round(1e6 * ms), "n": 1}
    message = {"message_ns": took(message_ms)} | ({"capacity": capacity} if capacity else {})
    given = {"format": "plumbline-run-profile", "version": 1, "machine": "given times", "runtime": "plumbline",
             "stages_ns": [{op: took(10 * factor) for op in "FIW"} for factor in factors], "messages": [message]}
    return {"size": ["-p", str(devices), "-m", str(microbatches), "--updates", "4"], "given": given, "schedules": schedules,
            "devices": devices, "processes": devices if processes else 0}


def real(processes, network="gpt-mini"):
    return {"size": ["-p", "2", "-m", "8", "--updates", "6"], "network": network, "schedules": ONE_CHUNK, "devices": 2,
            "processes": 2 if processes else 0, "by_round": True}


WIDE = str(pathlib.Path(__file__).resolve().parent / "gpt-wide.json")
GROUPS = {
    "larger products, 2 threads": real(False, WIDE),
    "larger products, 2 processes": real(True, WIDE),
    "real products, 2 threads": real(False),
    "real products, 2 processes": real(True),
    "4 threads, small messages": paced(4, 8, 0.1),
    "4 threads, unequal stages": paced(4, 8, 0.5, [1, 1.5, 0.75, 1.25], schedules=ONE_CHUNK),
    "4 threads, messages of 2 ms that share": paced(4, 8, 2, capacity=1.5),
    "8 threads, small messages": paced(8, 16, 0.1, schedules=["1f1b", "zb-h1", "interleaved", "zb-v", "v-half"]),
    "4 processes, small messages": paced(4, 8, 0.1, processes=True, schedules=["1f1b", "zb-h1", "gpipe", "interleaved"]),
}


def folder_of(out, group):
    return out / group.replace(",", "").replace(" ", "-")


def train(program, group, name, folder, round_number):
    """Trains once; returns the share of the time that others took."""
    command = [program, "train", name, *group["size"], "--json", f"{folder}/{name}.{round_number}.json"]
    if "given" in group:
        command += ["--backend", "paced", "--profile", f"{folder}/given.json"]
    else:
        command += ["--network", group["network"]]
    if group["processes"]:
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(group["processes"]), *command,
                   "--transport", "mpi"]
    if os.geteuid() == 0:
        command = ["chrt", "-r", "20", *command]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw, time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    if group["processes"]:
        return 0  # they ask for messages and yield, which looks like interruptions
    switches = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw - before
    return switches * SLICE_S / ((time.monotonic() - start) * min(os.cpu_count(), group["devices"]))


def measure(program, group, folder, rounds):
    folder.mkdir(parents=True, exist_ok=True)
    if "given" in group:
        (folder / "given.json").write_text(json.dumps(group["given"]))
    lost = []
    for number in range(rounds):
        lost.append(statistics.mean(train(program, group, name, folder, number) for name in group["schedules"]))
    (folder / "lost.json").write_text(json.dumps(lost))


def calm_rounds(lost):
    order = sorted(range(len(lost)), key=lambda number: lost[number])
    calm = sum(share <= MOST_LOST for share in lost)
    return order[:max(calm, (len(lost) + 1) // 2)]


def run_plumbline(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def step_of(document):
    return json.loads(document.read_text())["step_time_ns"]


def wrong_pairs(names, errors, steps):
    """Pairs predicted more than 2 % apart whose measured steps do not overlap: how many, and how many are swapped."""
    wrong, pairs = 0, 0
    predicted = {name: statistics.median(steps[name]) * (1 + errors[name]) for name in names}
    for a, b in itertools.combinations(names, 2):
        near, far = sorted((predicted[a], predicted[b]))
        if far <= 1.02 * near or not (max(steps[a]) < min(steps[b]) or max(steps[b]) < min(steps[a])):
            continue
        pairs += 1
        wrong += (predicted[a] < predicted[b]) != (statistics.median(steps[a]) < statistics.median(steps[b]))
    return f"{wrong} of {pairs}"


def errors_from(program, group, folder, base, rounds):
    """Of each schedule: the error of its step, and the model's part of it, from the base's runs of these rounds."""
    profile = folder / f"profile-{base}.json"
    known = ["--network", group["network"]] if "network" in group else []
    run_plumbline(program, "trace", *(folder / f"{base}.{number}.json" for number in rounds), "--summary", "--profile", profile, *known)
    errors, model = {}, {}
    for name in group["schedules"]:
        runs = [folder / f"{name}.{number}.json" for number in rounds]
        document = folder / f"{name}.predicted.json"
        run_plumbline(program, "simulate", name, *group["size"], "--profile", profile, "--json", document)
        errors[name] = step_of(document) / statistics.median(map(step_of, runs)) - 1
        model[name] = json.loads(run_plumbline(program, "compare", document, *runs, "--json", "-"))["model_error"]
    return errors, model


def score(program, title, group, folder, details):
    lost = json.loads((folder / "lost.json").read_text())
    rounds = calm_rounds(lost)
    steps = {name: [step_of(folder / f"{name}.{number}.json") for number in rounds] for name in group["schedules"]}
    spread = statistics.mean((max(s) - min(s)) / statistics.median(s) for s in steps.values())
    for base in ("1f1b", "zb-h1"):
        parts = [[number] for number in rounds] if group.get("by_round") else [rounds]
        scored = [errors_from(program, group, folder, base, part) for part in parts]
        errors, model = ({name: statistics.median(each[kind][name] for each in scored) for name in group["schedules"]} for kind in (0, 1))
        others = [name for name in group["schedules"] if name != base]
        worst = max(others, key=lambda name: abs(errors[name]))
        print(f"| {title} ({len(others)}) | {base} | {100 * statistics.mean(abs(errors[n]) for n in others):.1f} % | "
              f"{100 * errors[worst]:+.1f} % ({worst}) | {100 * statistics.mean(abs(model[n]) for n in others):.1f} % | "
              f"{100 * errors[base]:+.1f} % | {wrong_pairs(others, errors, steps)} | "
              f"{100 * spread:.1f} % | {100 * statistics.mean(lost[n] for n in rounds):.1f} % | {len(rounds)} of {len(lost)} |", flush=True)
        for name in others if details else []:
            print(f"    {name:14} {100 * errors[name]:+6.1f} %, model {100 * model[name]:+5.1f} %   measured {statistics.median(steps[name]) / 1e6:.1f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plumbline")
    parser.add_argument("out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--details", action="store_true")
    given = parser.parse_args()
    out = pathlib.Path(given.out)
    print("| runs (predicted schedules) | calibrated from | mean error | worst | the model's part | the run itself | wrong order | runs differ by | others took | rounds |")
    print("|---|---|---:|---|---:|---:|---|---:|---:|---|")
    for title, group in GROUPS.items():
        folder = folder_of(out, title)
        if given.only and title not in given.only.split(";"):
            continue
        if not given.score:
            measure(given.plumbline, group, folder, given.rounds)
        if (folder / "lost.json").exists():
            score(given.plumbline, title, group, folder, given.details)


if __name__ == "__main__":
    main()
