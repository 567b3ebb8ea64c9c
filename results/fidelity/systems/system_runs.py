#!/usr/bin/env python3
"""Runs Megatron-LM's or DeepSpeed's own pipeline schedules on CPUs (gloo, one process per rank) and writes what happened.

    python3 system_runs.py PLAN.json OUT [--only NAME,NAME] [--realtime]

PLAN.json is a list of runs: {"name": folder under OUT, "system": "megatron" or "deepspeed", "ranks": 4, "microbatches": 8,
"chunks": stages per rank (megatron), "overlap": whether interleaved messages are hidden (megatron; true),
"bytes": of one message, "ms": {"F": 10, "B": 20} of a stage, "scale": factors of the stages, "steps": 10, "warmup": 2,
"traced": 4, "stacks": whether the
traces have Python's calls}.

A stage sleeps in its forward and in its backward, so that many ranks run honestly on few cores. Order, messages, waits, autograd and
everything else is the system's own code; where Megatron-LM asks for a GPU it is given the CPU. A step begins behind a barrier and lasts
from the first rank's start to the last rank's end, by one clock. Each run leaves run.json and one Kineto trace per rank.
"""
import argparse
import datetime
import gzip
import json
import os
import statistics
import sys
import tempfile
import time
import types

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(1 << 30))  # freed activations stay in the heap, without page faults
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(1 << 34))
os.environ.setdefault("DS_ACCELERATOR", "cpu")

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.autograd import Function
from torch.overrides import TorchFunctionMode
from torch.profiler import ProfilerActivity, profile

now = time.monotonic_ns
SYSTEM_FILES = ("pipeline_parallel/schedules.py(", "pipeline_parallel/p2p_communication.py(", "runtime/pipe/engine.py(")


class Pause(Function):
    """Sleeps in the forward and in the backward; what it passes on has no meaning."""

    @staticmethod
    def forward(ctx, x, weight, forward_ms, backward_ms):
        ctx.backward_ms, ctx.shape = backward_ms, weight.shape
        time.sleep(forward_ms / 1e3)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(ctx.backward_ms / 1e3)
        return torch.empty_like(gradient), gradient.new_zeros(ctx.shape), None, None


class PacedStage(nn.Module):
    def __init__(self, ms, factor):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.ms = {op: time_ms * factor for op, time_ms in ms.items()}

    def forward(self, x):
        return Pause.apply(x, self.weight, self.ms["F"], self.ms["B"])


class Loss(Function):
    @staticmethod
    def forward(ctx, output):
        ctx.like = output.shape
        return torch.zeros(())

    @staticmethod
    def backward(ctx, gradient):
        return torch.empty(ctx.like)


class OnCpu(TorchFunctionMode):
    """Gives tensors that are asked for on a GPU on the CPU."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


def megatron(rank, run):
    """Returns a function that does one step with Megatron-LM's schedules."""
    torch.cuda.current_device = lambda: "cpu"
    torch.cuda.synchronize = lambda *_, **__: None
    kernels = types.ModuleType("kernels of a GPU that experts need and nothing here calls; they need Triton")
    kernels.__getattr__ = lambda name: None
    sys.modules["megatron.core.transformer.moe.ops.paged_stash"] = kernels
    from megatron.core import parallel_state
    from megatron.core.enums import ModelType
    from megatron.core.pipeline_parallel import schedules
    from megatron.core.transformer.transformer_config import TransformerConfig

    ranks, chunks = run["ranks"], run.get("chunks", 1)
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(
        pipeline_model_parallel_size=ranks, virtual_pipeline_model_parallel_size=chunks if chunks > 1 else None,
        create_gloo_process_groups=False)
    overlap = chunks > 1 and run.get("overlap", True)
    width = run["bytes"] // 4
    config = TransformerConfig(
        num_layers=ranks * chunks, hidden_size=width, num_attention_heads=1, pipeline_model_parallel_size=ranks,
        virtual_pipeline_model_parallel_size=chunks if chunks > 1 else None, pipeline_dtype=torch.float32,
        params_dtype=torch.float32, overlap_p2p_comm=overlap, batch_p2p_comm=not overlap,
        deallocate_pipeline_outputs=True)

    class Chunk(PacedStage):
        def __init__(self, stage):
            super().__init__(run["ms"], factor_of(run, stage))
            self.config, self.given, self.vp_stage = config, None, stage // ranks
            self.model_type = ModelType.encoder_or_decoder

        def set_input_tensor(self, tensors):
            self.given = tensors[0] if isinstance(tensors, (list, tuple)) else tensors

    model = [Chunk(chunk * ranks + rank) for chunk in range(chunks)]
    first = torch.zeros(1, 1, width)

    def forward_step(iterator, chunk):
        output = chunk(chunk.given if chunk.given is not None else first)
        return output, lambda value: (Loss.apply(value), {})

    function = schedules.get_forward_backward_func()
    iterators = [iter(()) for _ in model]

    def step():
        for chunk in model:
            chunk.weight.grad = None
        with OnCpu():
            function(forward_step_func=forward_step, data_iterator=iterators, model=model, seq_length=1, micro_batch_size=1,
                     num_microbatches=run["microbatches"], forward_only=False)

    return step


def deepspeed(rank, run):
    """Returns a function that does one step with DeepSpeed's PipelineEngine, its optimizer included."""
    import deepspeed as ds
    import deepspeed.comm.torch
    from deepspeed.pipe import PipelineModule

    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # all-reduces within a machine, which would have to be compiled
    ds.init_distributed("gloo", verbose=False)
    ranks, width = run["ranks"], run["bytes"] // 4
    layers = [PacedStage(run["ms"], factor_of(run, stage)) for stage in range(ranks)]
    module = PipelineModule(layers=layers, num_stages=ranks, loss_fn=lambda output, target: Loss.apply(output),
                            partition_method="uniform", activation_checkpoint_interval=0)
    engine, _, _, _ = ds.initialize(
        model=module, model_parameters=[p for p in module.parameters() if p.requires_grad],
        config={"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": run["microbatches"],
                "optimizer": {"type": "SGD", "params": {"lr": 1e-6}}, "steps_per_print": 1 << 30})
    batch = (torch.zeros(1, width), torch.zeros(1))

    def batches():
        while True:
            yield batch

    def step():
        engine.train_batch(data_iter=batches())

    return step


def factor_of(run, stage):
    return (run.get("scale") or [1] * (stage + 1))[stage]


def steps_of(step, count):
    times = []
    for _ in range(count):
        dist.barrier()
        start = now()
        step()
        times.append((start, now()))
    return times


def gathered(value):
    out = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object(value, out)
    return out


def save_trace(profiler, path):
    """The trace without what names the machine; process and thread numbers become small ones."""
    with tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(raw)
        with open(raw) as file:
            document = json.load(file)
    for key in ("traceName", "hostname", "host_name", "username", "deviceProperties"):
        document.pop(key, None)
    rank, pid, threads = dist.get_rank(), os.getpid(), {}
    kept = []
    for event in document["traceEvents"]:
        if event.get("ph") == "M" or event.get("cat") == "Trace":
            continue
        if event.get("cat") == "python_function":
            if not any(path in event["name"] for path in SYSTEM_FILES):
                continue
            event.pop("args", None)
        event["pid"] = rank if event.get("pid") in (pid, str(pid)) else event.get("pid")
        if isinstance(event.get("tid"), int) and event["tid"] != 0:
            event["tid"] = threads.setdefault(event["tid"], len(threads) + 1)
        kept.append(event)
    document["traceEvents"] = kept
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(json.dumps(document, separators=(",", ":")).encode())


def execute(rank, run, out):
    folder = os.path.join(out, run["name"])
    if rank == 0:
        os.makedirs(folder, exist_ok=True)
    step = {"megatron": megatron, "deepspeed": deepspeed}[run["system"]](rank, run)
    dist.barrier()
    steps_of(step, run.get("warmup", 2))
    times = steps_of(step, run.get("steps", 10))
    with profile(activities=[ProfilerActivity.CPU], with_stack=run.get("stacks", False)) as profiler:
        traced = steps_of(step, run.get("traced", 4))
    save_trace(profiler, os.path.join(folder, f"rank{rank}.json.gz"))
    all_times, all_traced = gathered(times), gathered(traced)
    if rank != 0:
        return

    def spans(ranks):
        return [max(r[k][1] for r in ranks) - min(r[k][0] for r in ranks) for k in range(len(ranks[0]))]

    record = {"run": run, "torch": torch.__version__, "python": sys.version.split()[0], "backend": "gloo",
              "step_ns": spans(all_times), "traced_step_ns": spans(all_traced)}
    with open(os.path.join(folder, "run.json"), "w") as file:
        json.dump(record, file, indent=1)
    print(f"{run['name']:28} median {statistics.median(record['step_ns']) / 1e6:9.3f} ms  min {min(record['step_ns']) / 1e6:9.3f}  "
          f"max {max(record['step_ns']) / 1e6:9.3f}", flush=True)


def main_of_rank(rank, run, out, store, realtime):
    torch.set_num_threads(1)
    if realtime:  # before gloo's threads are made: they inherit it
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    os.environ.update({"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(run["ranks"])})
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=run["ranks"],
                            timeout=datetime.timedelta(seconds=90))
    execute(rank, run, out)
    dist.barrier()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("out")
    parser.add_argument("--only", default="")
    parser.add_argument("--realtime", action="store_true", help="SCHED_RR (needs root): other work on the machine disturbs less")
    options = parser.parse_args()
    with open(options.plan) as file:
        plan = json.load(file)
    os.makedirs(options.out, exist_ok=True)
    for run in plan:
        if options.only and run["name"] not in options.only.split(","):
            continue
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(main_of_rank, args=(run, options.out, os.path.join(folder, "store"), options.realtime), nprocs=run["ranks"])


if __name__ == "__main__":
    main()
