#!/usr/bin/env python3
"""What `plumbline trace` says of real traces that were changed: cut, merged, mixed, moved onto a GPU, or badly packed.

    varied.py PLUMBLINE RUNS > varied.md

RUNS are as for score.py. A row per change: of how many of four runs (ZB-H1, the classes 1F1B and GPipe, ZBVZeroBubble) the
step is still that of the whole traces (to 1 %), another one (of the traced ones, where a step was cut away), or refused; with
one of the answers. The class 1F1B names no actions, so nothing of it goes with a name; it and GPipe are not moved onto a GPU.
"""
import argparse
import copy
import gzip
import json
import pathlib
import re
import subprocess
import tempfile

RUNS = ("p4-4k-zb-h1", "p4-4k-1F1B", "p4-4k-GPipe", "p4-4k-ZBVZeroBubble")


def is_range(event):
    return event.get("ph") == "X"


def all_ranges(ranks):
    return [event for rank in ranks for event in rank["traceEvents"] if is_range(event)]


def keep(ranks, wanted):
    for rank in ranks:
        rank["traceEvents"] = [event for event in rank["traceEvents"] if not is_range(event) or wanted(event)]
    return ranks


def cut(ranks, begin, end):
    first = min(event["ts"] for event in all_ranges(ranks))
    last = max(event["ts"] + event["dur"] for event in all_ranges(ranks))
    low, high = (first + share * (last - first) for share in (begin, end))
    return keep(ranks, lambda event: event["ts"] >= low and event["ts"] + event["dur"] <= high)


def shifted_clocks(ranks):
    for number, rank in enumerate(ranks):
        rank["baseTimeNanoseconds"] += 37_000_000 * number
    return ranks


def drifting_clocks(ranks):
    first = min(event["ts"] for event in all_ranges(ranks))
    for number, rank in enumerate(ranks):
        for event in rank["traceEvents"]:
            if is_range(event):
                event["ts"] = first + (event["ts"] - first) * (1 + 1e-4 * number)
    return ranks


def renamed(ranks, change):
    for rank in ranks:
        change(rank["distributedInfo"])
    return ranks


def replicas(info):
    pipeline = [2 * rank for rank in range(4)]
    info.update(rank=2 * info["rank"], world_size=8)
    info["pg_config"].append({"pg_name": "4", "pg_desc": "mesh_pp", "pg_size": 4, "ranks": pipeline})


def merged(ranks, job):
    whole = dict(ranks[0], traceEvents=[event for rank in ranks for event in rank["traceEvents"]])
    if not job:
        del whole["distributedInfo"]
    return [whole]


def on_gpu(ranks):
    """Kernels where the runner's ranges `compute:` were; the host is done with a step before the first one ends."""
    for rank in ranks:
        ranges = sorted(filter(is_range, rank["traceEvents"]), key=lambda event: event["ts"])
        computed = {}
        for event in ranges:
            if event["name"].startswith("compute:"):
                computed.setdefault(event["name"][8:], []).append(event)
        events, host, seen = [], None, set()
        for event in ranges:
            name = event["name"][3:]
            if not event["name"].startswith("PP:"):
                continue
            if name in seen or host is None:  # the next step
                host, seen = event["ts"], set()
            seen.add(name)
            host += 100
            events.append(dict(event, ts=host, dur=90))
            if name in computed:
                work = computed[name].pop(0)
                if work["dur"] < 200:  # I of the first stage
                    continue
                number = {"correlation": len(events)}
                events.append(dict(event, cat="cuda_runtime", name="cudaLaunchKernel", ts=host + 10, dur=5, args=number))
                events.append(dict(work, cat="kernel", name="gemm", tid=7, args=number))
        rank["traceEvents"] = events
    return ranks


def without(ranks, pattern):
    return keep(ranks, lambda event: not re.fullmatch(pattern, event["name"]))


CHANGES = {
    "files in another order": lambda ranks: ranks[::-1],
    "rank 2 is missing": lambda ranks: ranks[:2] + ranks[3:],
    "one rank twice": lambda ranks: ranks + ranks[:1],
    "clocks 37 ms apart": shifted_clocks,
    "clocks that drift by 0.1 ms per second": drifting_clocks,
    "merged, processes are ranks": lambda ranks: merged(ranks, False),
    "merged, with the first rank's distributedInfo": lambda ranks: merged(ranks, True),
    "no distributedInfo": lambda ranks: [{k: v for k, v in rank.items() if k != "distributedInfo"} for rank in ranks],
    "ranks 0, 2, 4, 6 of a mesh with replicas": lambda ranks: renamed(ranks, replicas),
    "begins within the first step": lambda ranks: cut(ranks, 0.3, 1),
    "ends within the second step": lambda ranks: cut(ranks, 0, 0.9),
    "shorter than a step": lambda ranks: cut(ranks, 0, 0.3),
    "between two steps": lambda ranks: cut(ranks, 0.2, 0.6),
    "no forward 3 of stage 2": lambda ranks: without(ranks, r"PP:2F3|Forward 3"),
    "without the runner's own ranges": lambda ranks: without(ranks, r"wait|compute:.*"),
    "without names of actions": lambda ranks: without(ranks, r"PP:.*|compute:.*|(Forward|Backward) .*"),
    "moved onto a GPU": on_gpu,
}


def answer(program, ranks, folder):
    files = []
    for number, rank in enumerate(ranks):
        files.append(folder / f"rank{number}.json.gz")
        files[-1].write_bytes(gzip.compress(json.dumps(rank).encode(), 1))
    done = subprocess.run([program, "trace", *files, "--summary", "--json", "-"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().replace(str(folder) + "/", "").removeprefix("plumbline: error: ")
    return json.loads(done.stdout)["makespan_ns"], ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plumbline")
    parser.add_argument("runs")
    options = parser.parse_args()
    ranks_of = {}
    for name in RUNS:
        files = sorted(next(pathlib.Path(options.runs).glob(f"**/{name}")).glob("rank*.json.gz"))
        ranks_of[name] = [json.loads(gzip.decompress(file.read_bytes())) for file in files]
    print("# Real traces, changed\n\nWritten by `varied.py`, whose head says what the columns mean.\n")
    print("| change | as before | another step | refused | for instance |\n|---|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        whole = {name: answer(options.plumbline, ranks, folder)[0] for name, ranks in ranks_of.items()}
        for change, make in CHANGES.items():
            counts, said = [0, 0, 0], ""
            for name, ranks in ranks_of.items():
                if make is on_gpu and name in ("p4-4k-1F1B", "p4-4k-GPipe"):
                    continue  # they name no actions
                step, error = answer(options.plumbline, make(copy.deepcopy(ranks)), folder)
                said = said or error.replace("|", "\\|")
                counts[2 if step is None else 0 if abs(step / whole[name] - 1) < 0.01 else 1] += 1
            print(f"| {change} | " + " | ".join(map(str, counts)) + f" | {said} |", flush=True)


if __name__ == "__main__":
    main()
