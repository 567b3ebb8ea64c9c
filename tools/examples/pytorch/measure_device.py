#!/usr/bin/env python3
"""Measures how fast this device runs the kernels of a network, for `plumbline device`.

    plumbline device measure --network gpt3-13b --script to-measure    # writes this script and kernels.json, what to measure
    python3 measure_device.py kernels.json -o measured.json          # on the machine with the GPU (CUDA, ROCm) or on a CPU
    python3 measure_device.py kernels.json -o measured.json --ranks 8      # with collectives of 8 GPUs; torchrun does it, too
    plumbline device import measured.json --network gpt3-13b -o device.json

It needs PyTorch and nothing else, and takes a few minutes on a GPU. Every entry of the list of kernels is run and comes
back with its `seconds`: the median over several rounds, each long enough for the clock. Operands change from call to call,
so that caches hold no more of them than in training. `step` in the result is a whole training step of the list's network,
as PyTorch runs it: predictions are held against it.
"""

import argparse
import json
import math
import os
import platform
import socket
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.nn import functional

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

# PyTorch 2.14 has given them other names.
REDUCE_SCATTER = dist.reduce_scatter_single if hasattr(dist, "reduce_scatter_single") else dist.reduce_scatter_tensor
ALL_GATHER = dist.all_gather_single if hasattr(dist, "all_gather_single") else dist.all_gather_into_tensor


class Machine:
    """The device, its clock, and the numbers that operands are made of."""

    def __init__(self, device, dtype, seconds):
        self.device = torch.device(device)
        self.dtype = dtype
        self.seconds = seconds
        self.on_gpu = self.device.type == "cuda"

    def wait(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def numbers(self, *shape, dtype=None):
        return torch.randn(*shape, device=self.device, dtype=torch.float32).mul_(0.02).to(dtype or self.dtype)

    def copies(self, make, numbers):
        """Sets of operands, more than caches hold (512 MB on a GPU, 128 MB on a CPU), at most 16."""
        hold = (512 if self.on_gpu else 128) << 20
        return [make() for _ in range(max(1, min(16, hold // max(1, 4 * numbers))))]

    def time(self, call, sets):
        """Median seconds of call(*operands) over rounds; all rounds together take about self.seconds."""
        for operands in sets[:2]:
            call(*operands)
        self.wait()
        start = time.perf_counter()
        call(*sets[0])
        self.wait()
        once = time.perf_counter() - start
        repeats = max(1, min(1000, math.ceil(self.seconds / 7 / max(once, 1e-7))))
        rounds = []
        for _ in range(7):
            start = time.perf_counter()
            for k in range(repeats):
                call(*sets[k % len(sets)])
            self.wait()
            rounds.append((time.perf_counter() - start) / repeats)
        return statistics.median(rounds)


def time_product(machine, kernel):
    """A product as training runs it: forward x W', gradient of the input dy W, gradient of the weight += dy' x."""
    m, n, k, count = kernel["m"], kernel["n"], kernel["k"], kernel["count"]
    batch = (count,) if count > 1 else ()
    numbers = count * (m * n + m * k + n * k)
    if kernel["pass"] == "forward":
        sets = machine.copies(lambda: (machine.numbers(*batch, m, k), machine.numbers(*batch, n, k)), numbers)
        return machine.time(lambda x, w: torch.matmul(x, w.mT), sets)
    if kernel["pass"] == "input_grad":
        sets = machine.copies(lambda: (machine.numbers(*batch, m, k), machine.numbers(*batch, k, n)), numbers)
        return machine.time(torch.matmul, sets)
    add = torch.baddbmm if batch else torch.addmm
    make = lambda: (machine.numbers(*batch, m, n), machine.numbers(*batch, k, m), machine.numbers(*batch, k, n))
    return machine.time(lambda sum_, dy, x: add(sum_, dy.mT, x, out=sum_), machine.copies(make, numbers))


def time_pass(machine, kernel, call, sets, outputs):
    """Seconds of call(*operands), or of its backward alone, over graphs that are kept."""
    if kernel["pass"] == "forward":
        with torch.no_grad():
            return machine.time(call, sets)
    grad = machine.numbers(*outputs) if outputs else None
    graphs = []
    for operands in sets:
        inputs = [operand.requires_grad_() for operand in operands if operand.is_floating_point()]
        graphs.append((call(*operands), inputs))
    return machine.time(lambda result, inputs: torch.autograd.grad(result, inputs, grad, retain_graph=True), graphs)


def time_attention(machine, kernel):
    samples, heads, groups = kernel["samples"], kernel["heads"], kernel["kv_heads"]
    rows, columns, key, value = kernel["rows"], kernel["columns"], kernel["key_width"], kernel["value_width"]
    causal = kernel["causal"] and rows == columns
    if kernel["causal"] and not causal:  # a part of the sequence: as much work without a mask
        columns //= 2
    shapes = ((samples, heads, rows, key), (samples, groups, columns, key), (samples, groups, columns, value))
    sets = machine.copies(lambda: [machine.numbers(*s) for s in shapes], sum(math.prod(s) for s in shapes))
    call = lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=groups != heads)
    return time_pass(machine, kernel, call, sets, (samples, heads, rows, value))


def time_memory(machine, kernel):
    tokens, width, run = kernel["tokens"], kernel["width"], kernel["run"]
    numbers = tokens * width
    one = lambda: [machine.numbers(tokens, width)]
    if run in ("layer_norm", "rms_norm"):
        call = (lambda x, w, b: functional.layer_norm(x, (width,), w, b)) if run == "layer_norm" else (
            lambda x, w, _: functional.rms_norm(x, (width,), w))
        sets = machine.copies(lambda: one() + [machine.numbers(width), machine.numbers(width)], 2 * numbers)
        if run == "rms_norm":
            sets, call = [s[:2] for s in sets], lambda x, w: functional.rms_norm(x, (width,), w)
        return time_pass(machine, kernel, call, sets, (tokens, width))
    if run == "gelu":
        call = lambda x: functional.gelu(x, approximate="tanh")
        return time_pass(machine, kernel, call, machine.copies(one, 2 * numbers), (tokens, width))
    if run == "swiglu":
        call = lambda x: functional.silu(x[:, :width]) * x[:, width:]
        sets = machine.copies(lambda: [machine.numbers(tokens, 2 * width)], 3 * numbers)
        return time_pass(machine, kernel, call, sets, (tokens, width))
    if run == "add":
        return time_pass(machine, kernel, torch.add, machine.copies(lambda: one() + one(), 3 * numbers), (tokens, width))
    if run == "cross_entropy":
        targets = torch.randint(width, (tokens,), device=machine.device)
        call = lambda x: functional.cross_entropy(x.float(), targets)
        return time_pass(machine, kernel, call, machine.copies(one, 2 * numbers), ())
    if run == "permute":
        order = torch.randperm(tokens, device=machine.device)
        return time_pass(machine, kernel, lambda x: x[order], machine.copies(one, 2 * numbers), (tokens, width))
    if run == "softmax":
        return time_pass(machine, kernel, lambda x: functional.softmax(x, -1), machine.copies(one, 2 * numbers),
                         (tokens, width))
    raise SystemExit(f"measure_device.py: unknown kernel '{run}', expected a list by the same version of plumbline")


def adamw(parameters):
    """By the fused kernel where there is one."""
    try:
        return torch.optim.AdamW(parameters, fused=True)
    except RuntimeError:
        return torch.optim.AdamW(parameters)


def time_optimizer(machine, kernel):
    """AdamW over float32 weights."""

    def make():
        weight = nn.Parameter(machine.numbers(kernel["parameters"], dtype=torch.float32))
        weight.grad = machine.numbers(kernel["parameters"], dtype=torch.float32)
        return (adamw([weight]).step,)

    return machine.time(lambda step: step(), machine.copies(make, 4 * kernel["parameters"]))


def time_copy(machine, kernel):
    numbers = kernel["bytes"] / 2 / 4
    sets = machine.copies(lambda: [machine.numbers(int(numbers), dtype=torch.float32) for _ in range(2)], 2 * int(numbers))
    return machine.time(lambda a, b: a.copy_(b), sets)


TIMERS = {"product": time_product, "attention": time_attention, "memory": time_memory, "optimizer": time_optimizer,
          "copy": time_copy}


def launch_seconds(machine):
    """What a kernel takes besides its work: on the device (a graph of empty ones), and of the host that starts it."""
    one = torch.zeros(1, device=machine.device)
    host = machine.time(lambda: one.add_(1), [()])
    if not machine.on_gpu:
        return {"kernel_s": host, "host_s": 0.0}
    graph, count = torch.cuda.CUDAGraph(), 200
    one.add_(1)
    machine.wait()
    with torch.cuda.graph(graph):
        for _ in range(count):
            one.add_(1)
    return {"kernel_s": machine.time(graph.replay, [()]) / count, "host_s": host}


def collective_calls(machine, op, size):
    """The call, with the bytes that nccl-tests would print for it: those of the larger of its two buffers."""
    ranks = dist.get_world_size()
    numbers = max(ranks, size // 4 // ranks * ranks)
    whole, part = (torch.zeros(n, device=machine.device) for n in (numbers, numbers // ranks))
    calls = {
        "all_reduce": lambda: dist.all_reduce(whole),
        "all_gather": lambda: ALL_GATHER(whole, part),
        "reduce_scatter": lambda: REDUCE_SCATTER(part, whole),
        "alltoall": lambda: dist.all_to_all_single(torch.empty_like(whole), whole),
    }
    return calls[op], 4 * numbers


def time_collectives(machine, sizes):
    rows = []
    for op in ("all_reduce", "all_gather", "reduce_scatter", "alltoall"):
        for size in sizes:
            call, bytes_ = collective_calls(machine, op, size)
            try:
                call()
            except RuntimeError as error:  # gloo has no reduce-scatter of tensors in some versions
                print(f"measure_device.py: {op}: {str(error).splitlines()[0]}", file=sys.stderr)
                break
            repeats = 3 if size > 1 << 24 else 20
            rounds = []
            for _ in range(5):
                dist.barrier()
                machine.wait()
                start = time.perf_counter()
                for _ in range(repeats):
                    call()
                machine.wait()
                rounds.append((time.perf_counter() - start) / repeats)
            rows.append({"op": op, "ranks": dist.get_world_size(), "nodes": int(os.environ.get("GROUP_WORLD_SIZE", "1")),
                         "bytes": bytes_, "seconds": statistics.median(rounds)})
    return rows


class Block(nn.Module):
    """Attention or MLP behind a norm, added to its input."""

    def __init__(self, layer, sequence):
        super().__init__()
        self.layer, self.sequence = layer, sequence
        width, bias = layer["width"], layer["bias"]
        self.norm = nn.RMSNorm(width) if layer["norm"] == "rms_norm" else nn.LayerNorm(width)
        if layer["kind"] == "attention":
            inner = layer["heads"] * layer["head_width"]
            self.groups = layer["kv_heads"] * layer["head_width"]
            self.into = nn.Linear(width, inner + 2 * self.groups, bias=bias)
            self.out = nn.Linear(inner, width, bias=bias)
        else:
            self.into = nn.Linear(width, layer["hidden"] * (2 if layer["gated"] else 1), bias=bias)
            self.out = nn.Linear(layer["hidden"], width, bias=bias)

    def attend(self, y):
        layer, head = self.layer, self.layer["head_width"]
        heads = lambda t: t.view(-1, self.sequence, t.shape[-1] // head, head).transpose(1, 2)
        q, k, v = (heads(t) for t in y.split([layer["heads"] * head, self.groups, self.groups], -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=layer["causal"],
                                                    enable_gqa=layer["kv_heads"] != layer["heads"])
        return y.transpose(1, 2).reshape(-1, layer["heads"] * head)

    def forward(self, x):
        y = self.into(self.norm(x))
        if self.layer["kind"] == "attention":
            y = self.attend(y)
        elif self.layer["gated"]:
            y = functional.silu(y[:, :self.layer["hidden"]]) * y[:, self.layer["hidden"]:]
        else:
            y = functional.gelu(y, approximate="tanh")
        return x + self.out(y)


class Model(nn.Module):
    def __init__(self, network):
        super().__init__()
        width, vocabulary = network["width"], network["vocabulary"]
        self.table = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(network["sequence"], width) if network["positions"] else None
        self.blocks = nn.ModuleList(Block(layer, network["sequence"]) for layer in network["layers"])
        self.norm = nn.RMSNorm(width) if network["layers"][0]["norm"] == "rms_norm" else nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if network["tied"]:
            self.head.weight = self.table.weight

    def forward(self, tokens, targets):
        x = self.table(tokens)
        if self.places is not None:
            x = x + self.places.weight
        x = x.reshape(-1, x.shape[-1])
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(self.norm(x)).float(), targets.reshape(-1))


def step_times(machine, network, steps):
    """Seconds of forward, backward and update of one microbatch of the whole network on this device, by step."""
    torch.manual_seed(0)
    model = Model(network).to(machine.device)
    if machine.dtype != torch.float32:
        model = model.to(machine.dtype)
    optimizer = adamw(model.parameters())
    shape = (network["samples"], network["sequence"])
    tokens, targets = (torch.randint(network["vocabulary"], shape, device=machine.device) for _ in range(2))
    parts = {"forward_s": [], "backward_s": [], "update_s": [], "step_s": []}
    for _ in range(steps + 2):
        marks = [time.perf_counter()]
        loss = model(tokens, targets)
        machine.wait()
        marks.append(time.perf_counter())
        loss.backward()
        machine.wait()
        marks.append(time.perf_counter())
        optimizer.step()
        machine.wait()
        marks.append(time.perf_counter())
        optimizer.zero_grad(set_to_none=False)  # gradients are added to, as in accumulation over microbatches
        for k, name in enumerate(("forward_s", "backward_s", "update_s")):
            parts[name].append(marks[k + 1] - marks[k])
        parts["step_s"].append(marks[3] - marks[0])
    return {name: times[2:] for name, times in parts.items()}


def device_facts(machine):
    facts = {"torch": torch.__version__, "type": machine.device.type, "dtype": str(machine.dtype).removeprefix("torch.")}
    if machine.on_gpu:
        properties = torch.cuda.get_device_properties(machine.device)
        facts |= {"name": properties.name, "memory_bytes": properties.total_memory,
                  "multiprocessors": properties.multi_processor_count}
        return facts
    name = platform.processor() or platform.machine() or "CPU"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as text:
            name = next((line.split(":")[1].strip() for line in text if line.startswith("model name")), name)
    except OSError:
        pass
    threads = torch.get_num_threads()
    return facts | {"name": f"{name}, {threads} threads", "multiprocessors": threads,
                    "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}


def measure(machine, asked, options):
    measured = {"format": "plumbline-kernel-timings", "version": 1, "device": device_facts(machine),
                "network": asked.get("network"), "shape": asked["shape"]}
    rank = dist.get_rank() if dist.is_initialized() else 0
    if rank == 0:
        begun = time.perf_counter()
        measured["launch"] = launch_seconds(machine)
        measured["kernels"] = []
        halves = [step_times(machine, asked["model"], options.steps // 2)] if asked.get("model") and options.steps > 1 else []
        for done, kernel in enumerate(asked["kernels"]):
            if time.perf_counter() - begun > options.limit:
                print(f"measure_device.py: {options.limit} s are over: {len(asked['kernels']) - done} kernels are left out",
                      file=sys.stderr)
                break
            try:
                measured["kernels"].append(kernel | {"seconds": TIMERS[kernel["kind"]](machine, kernel)})
            except torch.OutOfMemoryError:
                print(f"measure_device.py: does not fit in memory: {json.dumps(kernel)}", file=sys.stderr)
        if halves:  # before and after the kernels, so that a change of clocks does not look like an error
            halves.append(step_times(machine, asked["model"], options.steps // 2))
            measured["step"] = {name: statistics.median(halves[0][name] + halves[1][name]) for name in halves[0]}
    if dist.is_initialized():
        dist.barrier()
        measured["collectives"] = time_collectives(machine, [1 << p for p in range(12, options.largest + 1, 2)])
    return measured, rank


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", help="the list that `plumbline device measure --script` wrote")
    parser.add_argument("-o", "--output", default="measured.json", help="where the measurements go (default: %(default)s)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cuda or cpu")
    parser.add_argument("--dtype", choices=sorted(DTYPES), help="numbers of products (default: as the list says)")
    parser.add_argument("--seconds", type=float, default=0.2, help="time spent on each kernel (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=480, help="stop kernels after this many seconds (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="training steps to time; 0: none (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=1, help="devices of this machine in collectives (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="threads of a CPU")
    parser.add_argument("--largest", type=int, default=28, help="log2 of the largest message (default: %(default)s)")
    return parser.parse_args()


def run(rank, options):
    """One rank; the first one writes."""
    if options.ranks > 1:
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(options.ranks)}
    with open(options.kernels, encoding="utf-8") as text:
        asked = json.load(text)
    if asked.get("format") != "plumbline-kernels":
        sys.exit(f"{options.kernels}: expected a document 'plumbline-kernels', see `plumbline device measure --help`")
    if options.threads:
        torch.set_num_threads(options.threads)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        if options.device == "cuda":
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        dist.init_process_group("nccl" if options.device == "cuda" else "gloo")
    torch.manual_seed(0)
    machine = Machine(options.device, DTYPES[options.dtype or asked["shape"]["dtype"]], options.seconds)
    measured, rank = measure(machine, asked, options)
    if rank == 0:
        with open(options.output + ".part", "w", encoding="utf-8") as text:
            json.dump(measured, text, indent=1)
        os.replace(options.output + ".part", options.output)
        print(f"{options.output}: {len(measured['kernels'])} kernels on {measured['device']['name']}")
    if dist.is_initialized():
        dist.destroy_process_group()


def main():
    options = parse()
    if options.ranks < 2:
        run(0, options)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "USE_LIBUV": "0"}
    torch.multiprocessing.spawn(run, (options,), nprocs=options.ranks)


if __name__ == "__main__":
    main()
