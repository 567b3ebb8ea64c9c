#!/usr/bin/env python3
"""Races our searches against the zero-bubble authors' schedulers on random cases.

usage: random_cases.py CHECKOUT PLUMBLINE CASES      (CHECKOUT as in authors.py, PLUMBLINE the program)

Equal stages; times in tenths, which floating-point numbers round, so that comparisons in the authors' code go either way
at ties; three kinds of stashes; memory for p / 2 to 2.5 p microbatches. Prints every case in which ours is longer, and
the counts. Cases that the authors' code refuses, or in which it exceeds the limit, are left out.
"""
import json
import random
import subprocess
import sys

import authors

STASHES = [(2, -1, -1), (1, 0, -1), (40, -8, -32)]


def theirs(modules, what, p, m, f, i, w, comm, keep, limit):
    if what == "zb":
        zb = modules[0]
        spread = [[float(value)] * p for value in (*keep, limit, f, i, w)]
        config = authors.load("graph").GraphConfig(
            mem_f=spread[0], mem_b=spread[1], mem_w=spread[2], max_mem=spread[3], cost_f=spread[4], cost_b=spread[5],
            cost_w=spread[6], cost_comm=float(comm), n_stages=p, n_micro=m)
        graph = zb.Graph.build_graph(p, m, config)
        span, order, _ = zb.initial_solution(graph, print_result=False)
        rows = [[kind for _, kind in sorted((order[graph.get_id(kind, stage, k)], kind)
                                            for kind in range(3) for k in range(m))] for stage in range(p)]
        return span, max(authors.peak(row, keep) for row in rows)
    graph = modules[1].PipelineGraph(p, m, f, i, w, comm, f_mem=keep[0], b_mem=keep[1], w_mem=keep[2], max_mem=limit)
    tries = [graph.try_v_schedule(fill_b=b, fill_f=a) for b in (True, False) for a in (True, False)]
    schedule, ends, _ = min(tries, key=lambda one: one[2])
    span = 0
    for stage, row in enumerate(schedule):
        at = [ends[graph.get_id(cat, chunk, stage, k)] for cat, chunk, k in row]
        span = max(span, max(at) - at[0] + f)
    return span, max(authors.peak([cat for cat, _, _ in row], keep) for row in schedule)


def ours(program, what, p, m, f, i, w, comm, keep, limit):
    name = ["zb-auto"] if what == "zb" else ["zb-v", "--opt", "order=search"]
    command = [program, "simulate", *name, "-p", str(p), "-m", str(m), "--cost", f"F={f},I={i},W={w},comm={comm}",
               "--memory", f"F={keep[0]},I={keep[1]},W={keep[2]}", "--per-stage", "--memory-limit", str(limit), "--summary", "--json", "-"]
    search = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["search"]
    return search["span_ns"] / 1e6, search["bound_ns"] / 1e6


def main():
    sys.path.insert(0, sys.argv[1])
    sys.setrecursionlimit(100000)
    modules = authors.load("zb"), authors.load("zbv")
    for what in ("zb", "zb-v"):
        chance = random.Random(2405)
        cases = longer = shorter = proved = 0
        for _ in range(int(sys.argv[3])):
            p = chance.randint(2, 8)
            m = chance.randint(1, 3 * p)
            times = [round(chance.randint(1, 12) * chance.choice([.1, .1, .5]), 1) for _ in range(3)]
            comm = chance.choice([0, 0, .1, .2, .3])
            keep = chance.choice(STASHES)
            share = chance.choice([.5, .75, 1, 1.25, 1.5, 2, 2.5])
            limit = int(max(keep[0], share * p * keep[0])) * (1 if what == "zb" else 2)
            try:
                span, most = theirs(modules, what, p, m, *times, comm, keep, limit)
            except (AssertionError, ValueError, IndexError, TypeError):
                continue
            if most > limit:
                continue
            found, bound = ours(sys.argv[2], what, p, m, *times, comm, keep, limit)
            cases += 1
            proved += found == bound
            shorter += found < span - 1e-6
            if found > span + 1e-6:
                longer += 1
                print("longer:", what, p, m, *times, comm, keep, limit, found, span)
        print(f"{what}: {cases} cases, ours shorter in {shorter}, longer in {longer}, proved the shortest in {proved}")


if __name__ == "__main__":
    main()
