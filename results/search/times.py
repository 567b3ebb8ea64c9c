#!/usr/bin/env python3
"""Compares the time of our searches with that of another program, or with what a search takes without its improvement.

usage: times.py PLUMBLINE [OTHER] [CASES]    (default: OTHER is PLUMBLINE with --opt improve=no, 300 cases of each search)

Cases are drawn from table.csv (fixed seed), and five sizes beyond it up to 32 devices. Each is run five times with either program,
alternately; the smallest processor time of the five counts, start and output included, since that is what a user waits for.
Prints, for each search, the ratio of the two times by quantiles, and the longest time.
"""
import csv
import os
import pathlib
import random
import subprocess
import sys

ROUNDS = 5
LARGE = [(8, 128), (16, 128), (24, 96), (32, 128), (32, 256)]
SEARCHES = {"zb": ["zb-auto"], "zb-v": ["zb-v", "--opt", "order=search"], "v-auto": ["v-auto"]}


def cases(what, most):
    with open(pathlib.Path(__file__).with_name("table.csv")) as file:
        rows = [row for row in csv.DictReader(file) if row["what"] == what and "/" not in row["f"]]
    random.Random(2411).shuffle(rows)
    for row in rows[:most]:
        yield int(row["p"]), int(row["m"]), [row[key] for key in ("f", "i", "w", "comm")], row["limit"]
    for p, m in LARGE:
        yield p, m, [10419, 10207, 7715, 408], (4 if what != "v-auto" else 3) * p


def seconds(command):
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: ended with status {status}")
    return usage.ru_utime + usage.ru_stime


def compare(what, ours, other, most):
    ratios = []
    longest = (0, "")
    for p, m, (f, i, w, comm), limit in cases(what, most):
        options = [*SEARCHES[what], "-p", str(p), "-m", str(m), "--cost", f"F={f},I={i},W={w},comm={comm}", "--memory",
                   "F=2,I=-1,W=-1", "--per-stage", "--memory-limit", str(limit)]
        pairs = [(seconds([ours[0], "schedule", *options, *ours[1:]]), seconds([other[0], "schedule", *options, *other[1:]]))
                 for _ in range(ROUNDS)]
        mine, theirs = (min(times) for times in zip(*pairs))
        ratios.append((mine / theirs, f"p={p} m={m} F={f} I={i} W={w} comm={comm} limit={limit}: {mine:.3f} s, {theirs:.3f} s"))
        longest = max(longest, (mine, f"p={p} m={m}: {mine:.3f} s, {theirs:.3f} s"))
    ratios.sort()
    at = lambda share: ratios[min(len(ratios) - 1, int(share * len(ratios)))]
    print(f"{what}: {len(ratios)} cases; ratio median {at(.5)[0]:.2f}, p90 {at(.9)[0]:.2f}, p99 {at(.99)[0]:.2f}, "
          f"largest {at(1)[0]:.2f} ({at(1)[1]}); longest {longest[1]}", flush=True)


def main():
    program = sys.argv[1]
    words = sys.argv[2:]
    most = int(words.pop()) if words and words[-1].isdigit() else 300
    other = [words[0]] if words else [program, "--opt", "improve=no"]
    for what in SEARCHES if words else ("zb", "zb-v"):
        compare(what, [program], other, most)


if __name__ == "__main__":
    main()
