#!/usr/bin/env python3
"""Predicts runs with large messages from runs with messages of 4 KiB and a ping-pong, and says how far off that is.

    by_size.py PLUMBLINE RUNS PINGPONG.csv [--details]

Nothing is known of large messages but the ping-pong between two idle ranks. For each group: `own` has the messages of the
group's own trace (as score.py has them); `4 KiB` takes those of the 4 KiB run for messages of any size; `ping-pong` is
`trace --message-bytes 4KiB --messages PINGPONG.csv`. Actions and host are of the group's trace in all three. In the last row
everything is of the 4 KiB run.
"""
import argparse
import json
import pathlib
import statistics
import tempfile

import score

BYTES = {"4k": 4096, "4m": 4 << 20, "uneq": 4 << 20, "32m": 32 << 20}


def profile_of(program, base, path, *words):
    score.plumbline(program, "trace", *base.traces, "--summary", "--profile", path, *words)
    return json.loads(path.read_text())


def errors_of(program, runs, profile, path):
    path.write_text(json.dumps(profile))
    return {run.schedule: score.predicted_ns(program, run, path) / run.measured - 1 for run in runs}


def cell(errors):
    worst = max(errors, key=lambda name: abs(errors[name]))
    return f"{100 * statistics.mean(map(abs, errors.values())):.1f} % | {100 * errors[worst]:+.1f} % ({worst})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plumbline")
    parser.add_argument("runs")
    parser.add_argument("pingpong")
    parser.add_argument("--details", action="store_true")
    given = parser.parse_args()
    runs = [score.Run(document.parent) for document in sorted(pathlib.Path(given.runs).glob("**/run.json"))]
    base_of = {run.group: run for run in runs if run.schedule == "zb-h1"}
    print("| group (predicted runs) | own: mean error | worst | 4 KiB: mean error | worst | ping-pong: mean error | worst |\n"
          "|---|---:|---|---:|---|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "profile.json"
        small = profile_of(given.plumbline, base_of["p4-4k"], path, "--message-bytes", "4KiB", "--messages", given.pingpong)
        for group in ("p4-4m", "p4-uneq", "p4-32m", "p2-32m"):
            of_group = [run for run in runs if run.group == group]
            own = profile_of(given.plumbline, base_of[group], path)
            sizes = {key: small[key] for key in ("messages", "message_bytes")}
            large = sizes | {"message_bytes": BYTES[group.split("-")[1]]}
            rows = [errors_of(given.plumbline, of_group, own | with_messages, path) for with_messages in ({}, sizes, large)]
            print(f"| {group} ({len(of_group)}) | " + " | ".join(map(cell, rows)) + " |", flush=True)
            for name in rows[0] if given.details else []:
                print(f"    {name:20}" + "".join(f"{100 * row[name]:+8.1f} %" for row in rows))
        of_group = [run for run in runs if run.group == "p4-4m"]
        rows = [errors_of(given.plumbline, of_group, small | {"message_bytes": size}, path) for size in (4096, 4 << 20)]
        print(f"| p4-4m ({len(of_group)}), actions of p4-4k | | | " + " | ".join(map(cell, rows)) + " |")


if __name__ == "__main__":
    main()
