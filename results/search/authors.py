#!/usr/bin/env python3
"""Runs the zero-bubble authors' schedulers over a grid of cases and prints their results as CSV.

usage: authors.py CHECKOUT [DEVICES]... > authors.csv      (default: all numbers of devices of the grid)
       authors.py CHECKOUT tenths > tenths.csv             (only the random cases with times in tenths)

CHECKOUT is a copy of github.com/sail-sg/zero-bubble-pipeline-parallelism; only the files under
megatron/core/pipeline_parallel/zerobubble/scheduler are used. Columns: what ran (zb: the straight pipeline's automatic
scheduler; zb-v: the V's; v-auto: the adaptive search over building blocks; v-min, v-half: the greedy ones), devices, microbatches, times of F, I and W of a stage (with
one for each stage: separated by slashes), time between devices, limit of the stashes of a device (F keeps 2, I and W
free 1 each), their longest time from a device's first to its last action, and the most that a device keeps (in the same
units). Cases that their code refuses are left out. In rows of zb/10 and zb-v/10 all times are tenths: their code is given
0.7 where the row has 7, so that its sums are rounded and its comparisons go either way at ties.
"""
import importlib
import random
import sys
import types

# What is imported there and not needed here.
for name in ("torch", "pulp"):
    sys.modules.setdefault(name, types.SimpleNamespace(Tensor=object))

PAPER = {"1.5B": (18522, 18086, 9337, 601), "6.2B": (29718, 29444, 19927, 527),
         "14.6B": (11347, 11248, 8132, 377), "28.3B": (10419, 10207, 7715, 408)}
VECTORS = [(1, 1, 1, 0), (5, 6, 4, 0), (5, 6, 4, 1), (3, 2, 4, 1), (10, 4, 12, 0), (2, 5, 1, 0), (7, 9, 7, 3),
           *PAPER.values()]


def load(part):
    return importlib.import_module("megatron.core.pipeline_parallel.zerobubble.scheduler." + part)


def peak(letters, keep):
    now = most = 0
    for letter in letters:
        now += keep[letter]
        most = max(most, now)
    return most


def straight(zb, p, m, f, i, w, comm, limit):
    def spread(value):
        return [float(v) for v in value] if isinstance(value, list) else [float(value)] * p

    config = load("graph").GraphConfig(
        mem_f=[2.0] * p, mem_b=[-1.0] * p, mem_w=[-1.0] * p, max_mem=[float(limit)] * p,
        cost_f=spread(f), cost_b=spread(i), cost_w=spread(w), cost_comm=float(comm), n_stages=p, n_micro=m)
    graph = zb.Graph.build_graph(p, m, config)
    best, order, _ = zb.initial_solution(graph, print_result=False)
    most = 0
    for stage in range(p):
        row = sorted((order[graph.get_id(kind, stage, k)], kind) for kind in range(3) for k in range(m))
        most = max(most, peak([kind for _, kind in row], (2, -1, -1)))
    return best, most


def v_search(zbv, p, m, f, i, w, comm, limit):
    graph = zbv.PipelineGraph(p, m, f, i, w, comm, f_mem=2, b_mem=-1, w_mem=-1, max_mem=limit)
    best = None
    for fill_b in (True, False):
        for fill_f in (True, False):
            schedule, ends, bubble = graph.try_v_schedule(fill_b=fill_b, fill_f=fill_f)
            if best is None or bubble < best[2]:
                best = schedule, ends, bubble
    schedule, ends, _ = best
    span = 0
    for stage, row in enumerate(schedule):
        end = max(ends[graph.get_id(cat, chunk, stage, k)] for cat, chunk, k in row)
        cat, chunk, k = row[0]
        span = max(span, end - ends[graph.get_id(cat, chunk, stage, k)] + f)
    return span, max(peak([cat for cat, _, _ in row], (2, -1, -1)) for row in schedule)


def v_greedy(greedy, kind, p, m, f, i, w, comm):
    graph = greedy.PipelineGraph(p, m, kind, f, i, w, comm)
    blocks = {"min": graph.stable_pattern_v_min, "half": graph.stable_pattern_v_half}
    span, _, order = graph.schedule_from_pattern(blocks[kind](p), m, [f, f, i, i, w, w])
    return span, max(peak([letter // 2 for letter, _ in row], (2, -1, -1)) for row in order)


def v_auto(auto, p, m, f, i, w, comm, limit):
    rows = auto.schedule(p, m, (f, i, w, comm), limit // 2)
    span = max(row[-1].completion_time - row[0].start_time for row in rows)
    return span, max(peak([node.type for node in row], {"F": 2, "B": -1, "W": -1}) for row in rows)


def text(value):
    return "/".join(str(v) for v in value) if isinstance(value, list) else str(value)


def emit(what, p, m, costs, limit, run):
    f, i, w, comm = costs
    try:
        span, most = run()
    except (AssertionError, ValueError, IndexError, TypeError):
        return False
    print(what, p, m, text(f), text(i), text(w), comm, limit, round(span), round(most), sep=",", flush=True)
    return True


def emit_tenths(zb, zbv, each):
    """Random cases in which times are few tenths, so that there are many ties."""
    chance = random.Random(2611)

    def scaled(run, *arguments):
        span, most = run(*arguments)
        return span * 10, most

    for what, module, run, chunks in (("zb/10", zb, straight, 1), ("zb-v/10", zbv, v_search, 2)):
        left = each
        while left > 0:
            p = chance.randint(2, 8)
            m = chance.randint(p, min(3 * p, 64 // p))
            costs = [chance.randint(1, 12) * chance.choice([1, 1, 5]) for _ in range(3)] + [chance.choice([0, 0, 1, 2, 3])]
            limit = int(chance.choice([.75, 1, 1.25, 1.5, 2]) * 2 * p) * chunks
            tenths = [value / 10 for value in costs]
            left -= emit(what, p, m, costs, limit, lambda: scaled(run, module, p, m, *tenths, limit))


def uneven(p, chance):
    return tuple([chance.randint(3, 12) for _ in range(p)] for _ in range(3)) + (chance.randint(0, 2),)


def main():
    sys.path.insert(0, sys.argv[1])
    zb, zbv, greedy, auto = load("zb"), load("zbv"), load("zbv_greedy"), load("v_auto_schedule")
    sys.setrecursionlimit(100000)
    chance = random.Random(2401)
    print("what,p,m,f,i,w,comm,limit,span,peak")
    if sys.argv[2:] == ["tenths"]:
        return emit_tenths(zb, zbv, 40)
    wanted = [int(devices) for devices in sys.argv[2:]]
    for p in (2, 3, 4, 6, 8, 12, 16):
        for m in sorted({p, 2 * p + 1, 3 * p, 4 * p}):
            cases = VECTORS + [uneven(p, chance) for _ in range(4)]
            if wanted and p not in wanted:
                continue
            for costs in cases:
                for limit in sorted({p + 1, 3 * p // 2, 2 * p, 3 * p, 4 * p}):
                    emit("zb", p, m, costs, limit, lambda: straight(zb, p, m, *costs, limit))
            for costs in VECTORS:
                for limit in sorted({2 * p + 2, 3 * p, 4 * p, 6 * p}):
                    emit("zb-v", p, m, costs, limit, lambda: v_search(zbv, p, m, *costs, limit))
                for limit in sorted({2 * p, 3 * p, 4 * p} if p <= 6 and m <= 2 * p + 1 else {}):
                    emit("v-auto", p, m, costs, limit, lambda: v_auto(auto, p, m, *costs, limit))
                if p <= 8:
                    for kind in ("min", "half"):
                        emit("v-" + kind, p, m, costs, 0, lambda: v_greedy(greedy, kind, p, m, *costs))
    if not wanted:
        emit_tenths(zb, zbv, 40)


if __name__ == "__main__":
    main()
