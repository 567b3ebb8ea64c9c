#!/usr/bin/env python3
"""Writes what torch.distributed.pipelining itself makes of its schedules: lowered.csv and lowered/*.csv.

    python3 tests/schedules/data/torch/dump_lowered.py

lowered.csv has a row per class and size: ranks, stages per rank, microbatches, and the FNV-1a hash (64 bits) of the text
that `_PipelineScheduleRuntime._dump_csv(.., "compute_comms")` writes, with receives where the sender is and late
(`defer_pp_recv`). Where the class refuses the size, both are "refused". lowered/ holds a few of these texts.

GPipe and 1F1B are not classes of that runtime, and it refuses their own lists because these end with REDUCE_GRAD. They
are lowered from the lists without it. The list of 1F1B numbers the forwards of the last rank from 1; this is put right.
"""
import csv
import os
import tempfile
from unittest import mock

import torch.distributed.pipelining.schedules as schedules
from torch.distributed.pipelining.stage import PipelineStage

CHUNKS = {"GPipe": [1], "1F1B": [1], "Interleaved1F1B": [1, 2, 3, 4], "LoopedBFS": [1, 2, 3, 4],
          "InterleavedZeroBubble": [1, 2, 3, 4], "ZBVZeroBubble": [2], "DualPipeV": [2]}
HERE = os.path.dirname(os.path.abspath(__file__))


def stage_of(ranks, chunks):
    """A stand-in for a stage, so that no process group is needed."""
    stage = mock.create_autospec(PipelineStage, instance=True)
    stage.group_rank, stage.group_size, stage.submod, stage.num_stages = 0, ranks, None, ranks * chunks
    return stage


def compute_order(name, ranks, chunks, microbatches):
    """What every rank computes."""
    stage = stage_of(ranks, chunks)
    single = name in ("GPipe", "1F1B")
    order = schedules.get_schedule_class(name)(stage if single else [stage] * chunks, microbatches).pipeline_order
    order = {rank: [a for a in order[rank] if a is not None and a.computation_type != schedules.REDUCE_GRAD]
             for rank in order}
    last = order[ranks - 1]
    if name == "1F1B" and last[0].microbatch_index == 1:
        order[ranks - 1] = [a._replace(microbatch_index=a.microbatch_index - 1)
                            if a.computation_type == schedules.FORWARD else a for a in last]
    return order


def lowered(order, ranks, chunks, microbatches, late):
    runtime = schedules._PipelineScheduleRuntime([stage_of(ranks, chunks)] * chunks, microbatches, defer_pp_recv=late)
    runtime._prepare_schedule_with_comms(order)
    with tempfile.NamedTemporaryFile() as file:
        runtime._dump_csv(file.name, "compute_comms")
        return open(file.name, "rb").read()


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return f"{value:016x}"


def main():
    os.makedirs(os.path.join(HERE, "lowered"), exist_ok=True)
    with open(os.path.join(HERE, "lowered.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["class", "ranks", "chunks", "microbatches", "lowered", "late"])
        for name, all_chunks in CHUNKS.items():
            for size in ((p, v, m) for p in (1, 2, 3, 4, 5, 8) for v in all_chunks for m in (1, 2, 4, 5, 8, 12, 16)):
                try:
                    order = compute_order(name, *size)
                except ValueError:
                    table.writerow([name, *size, "refused", "refused"])
                    continue
                texts = [lowered(order, *size, late) for late in (False, True)]
                table.writerow([name, *size, *map(fnv, texts)])
                if size[0] == 2 and size[1] == min(all_chunks[-1], 2) and size[2] == 4:
                    open(os.path.join(HERE, "lowered", name + ".csv"), "wb").write(texts[0])


if __name__ == "__main__":
    main()
