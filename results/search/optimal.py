#!/usr/bin/env python3
"""Compares the zero-bubble authors' schedulers, our searches, and the proved optimum.

usage: optimal.py CHECKOUT PLUMBLINE [MILLIONS] > optimal.csv      (MILLIONS of states for each proof, default 5)

CHECKOUT as in authors.py (-: only the rows of v-auto, which need none), PLUMBLINE the program. Instances: for the
straight pipeline (zb) those on which the authors' integer programme was run again (2 to 4 devices, up to 8
microbatches, memory for p, 1.5 p and 2 p microbatches), larger ones (5 to 8 devices), and the twelve configurations
of the paper (8 to 32 devices) with p and 2 p; for the V (zb-v) the small ones with 2 p stashes; for v-auto all of
table.csv, with the authors' spans from there (their adaptive search takes hours). A proof for v-auto is that of zb-v,
whose orders are of the same problem. Columns: devices, microbatches, times of F, I and W of a stage, time between
devices, limit of the stashes of a device (F keeps 2, I and W free 1 each); longest device span of the authors'
scheduler, of our search with its lower bound, and of the proof with its lower bound (equal: the optimum); seconds of
the program without and with the proof, with its start.
"""
import csv
import json
import math
import pathlib
import subprocess
import sys
import time

import authors

TIMES = [(1, 1, 1, 0), (5, 6, 4, 0), (5, 6, 4, 1), (2, 5, 1, 0)]
SMALL = [(p, m) for p in (2, 3, 4) for m in (4, 6, 8)]
LARGER = [(5, 8), (6, 8), (6, 12), (8, 12), (8, 16)]
PAPER = [(8, 24, (18522, 18086, 9337, 601)), (8, 32, (18513, 18086, 9331, 626)), (8, 64, (18546, 18097, 9321, 762)),
         (8, 24, (29718, 29444, 19927, 527)), (8, 32, (29802, 29428, 19530, 577)), (8, 64, (29935, 29621, 19388, 535)),
         (16, 48, (11347, 11248, 8132, 377)), (16, 64, (11307, 11254, 8101, 379)), (16, 128, (11325, 11308, 8109, 378)),
         (32, 96, (10419, 10207, 7715, 408)), (32, 128, (10408, 10204, 7703, 408)), (32, 256, (10402, 10248, 7698, 460))]


def instances():
    for p, m in SMALL + LARGER:
        for costs in TIMES:
            for limit in (2 * p, 3 * p, 4 * p):
                yield "zb", p, m, costs, limit
    for p, m, costs in PAPER:
        for limit in (2 * p, 4 * p):
            yield "zb", p, m, costs, limit
    for p, m in SMALL:
        for costs in TIMES:
            yield "zb-v", p, m, costs, 4 * p


def adaptive():
    """The cases of v-auto in table.csv, each with the span of the authors' order."""
    with open(pathlib.Path(__file__).with_name("table.csv"), newline="") as table:
        for row in csv.DictReader(table):
            if row["what"] == "v-auto":
                costs = tuple(int(row[key]) for key in ("f", "i", "w", "comm"))
                yield int(row["p"]), int(row["m"]), costs, int(row["limit"]), int(row["span"])


def ours(program, what, p, m, costs, limit, *options):
    """Span, bound and seconds. One unit is 1 ms."""
    f, i, w, comm = costs
    name = {"zb": ["zb-auto"], "zb-v": ["zb-v", "--opt", "order=search"], "v-auto": ["v-auto"]}[what]
    command = [program, "simulate", *name, "-p", str(p), "-m", str(m), "--cost", f"F={f},I={i},W={w},comm={comm}",
               "--memory", "F=2,I=-1,W=-1", "--per-stage", "--memory-limit", str(limit), "--summary", "--json", "-", *options]
    start = time.monotonic()
    search = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["search"]
    return round(search["span_ns"] / 1e6), math.ceil(search["bound_ns"] / 1e6), time.monotonic() - start


def main():
    sys.path.insert(0, sys.argv[1])
    program, millions = sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "5"
    run = {}
    if sys.argv[1] != "-":
        run = {"zb": (authors.straight, authors.load("zb")), "zb-v": (authors.v_search, authors.load("zbv"))}
    print("what,p,m,f,i,w,comm,limit,authors,found,bound,proved_found,proved_bound,seconds,proof_seconds")

    def row(what, p, m, costs, limit, theirs):
        found, bound, seconds = ours(program, what, p, m, costs, limit)
        proves = "zb-v" if what == "v-auto" else what
        best, least, proof_seconds = ours(program, proves, p, m, costs, limit, "--opt", "proof=" + millions)
        print(what, p, m, *costs, limit, round(theirs), found, bound, min(best, found), max(least, bound), f"{seconds:.2f}",
              f"{proof_seconds:.2f}", sep=",", flush=True)

    for what, p, m, costs, limit in instances() if sys.argv[1] != "-" else ():
        search, module = run[what]
        theirs, _ = search(module, p, m, *costs, limit)
        row(what, p, m, costs, limit, theirs)
    for p, m, costs, limit, theirs in adaptive():
        row("v-auto", p, m, costs, limit, theirs)


if __name__ == "__main__":
    main()
