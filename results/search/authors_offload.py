#!/usr/bin/env python3
"""Runs the released PipeOffload scheduler over a grid of cases and prints its results as CSV.

usage: authors_offload.py CHECKOUT [DEVICES]... > offload.csv      (default: all numbers of devices of the grid)

CHECKOUT is a copy of github.com/sail-sg/zero-bubble-pipeline-parallelism; only the files under
megatron/core/pipeline_parallel/zerobubble/scheduler are used. F, I and W of a chunk take 1 each. Columns: devices,
microbatches, chunks per device, microbatches per group, chunks that are offloaded, time of one copy as a share of
F + I + W, the most chunks that a device keeps by their own count, and their time from start to end. Cases that their
code refuses ("Unable to schedule offload", or nothing to offload) are left out.
"""
import contextlib
import importlib
import io
import sys
import types

SCHEDULER = "megatron.core.pipeline_parallel.zerobubble.scheduler"
DEVICES = (4, 8, 16)
COPY_TIMES = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2)


def prepare(checkout):
    """Makes the scheduler's files importable without what the packages around them import."""
    training = types.ModuleType("megatron.training")
    training.get_args = lambda: types.SimpleNamespace(offload_overlap_sr=False)
    for name in ("torch", "pulp"):
        sys.modules.setdefault(name, types.SimpleNamespace(Tensor=object))
    names = SCHEDULER.split(".")
    for depth in range(1, len(names) + 1):
        package = types.ModuleType(".".join(names[:depth]))
        package.__path__ = ["/".join([checkout] + names[:depth])]
        sys.modules[package.__name__] = package
    sys.modules[training.__name__] = training
    return [importlib.import_module(f"{SCHEDULER}.{part}")
            for part in ("graph", "group_interleaved_1f1b", "passes", "offloading")]


def run(parts, p, m, v, group, offload, copy):
    graph, blocks, passes, offloading = parts
    config = graph.GraphConfig(mem_f=[1.0] * p, mem_b=[0.0] * p, mem_w=[-1.0] * p, cost_f=[1.0] * p, cost_b=[1.0] * p,
                               cost_w=[1.0] * p, n_stages=p, n_micro=m, max_chunks=v)
    with contextlib.redirect_stdout(io.StringIO()):
        order = blocks.create_schedule(config, True, "selective", None, None, group, offload)
        order = passes.add_time(config, passes.add_send_recv_peer_stage(config, order))
        order = offloading.add_offload(config, order, copy)
    return max(offloading.get_peak_memory(order)), max(row[-1].completion_time for row in order)


def main():
    parts = prepare(sys.argv[1])
    wanted = [int(devices) for devices in sys.argv[2:]] or DEVICES
    if wanted[0] == DEVICES[0]:
        print("p,m,v,group,offload,copy,peak,span")
    cases = [(p, times * p, v, group, offload, copy) for p in wanted for times in (1, 2, 3) for v in (2, 3, 4)
             for group in (p // 2, p) for offload in range(1, v + 1) for copy in COPY_TIMES]
    for case in cases:
        try:
            peak, span = run(parts, *case)
        except (AssertionError, IndexError):
            continue
        print(*case, peak, round(span), sep=",", flush=True)


if __name__ == "__main__":
    main()
