#!/usr/bin/env python3
"""Runs a schedule that Plumbline wrote on your own modules, with PyTorch's pipeline runtime, checks it and traces it.

    plumbline schedule zb-h1 -p 4 -m 8 --format torch-comms -o zb-h1.csv
    python3 run_schedule.py zb-h1.csv --model my_model.py --out run
    plumbline trace run/rank*.json.gz

ORDER.csv has one line of actions per rank. One process runs per line: started by torchrun on one or more machines, or,
without torchrun, by this script on this machine. my_model.py is a module of yours with

    model(stage, num_stages)   the torch.nn.Module of a stage; takes the output of the stage before it
    batch(num_microbatches)    (inputs, targets): two tensors of the whole batch, split evenly by their first dimension
    loss(output, target)       the mean loss of a microbatch: a tensor with one element

The first step's gradients are compared with those of all stages in a row on one device. Then some steps are timed, and
some run under torch.profiler: one trace per rank. Their ranges must show the actions in the order of the file.

Exit status: 0 all is as it should be, 1 gradients or order differ, 2 wrong input.
"""
import argparse
import csv
import datetime
import gzip
import importlib.util
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime
from torch.profiler import ProfilerActivity, profile

HERE = os.path.dirname(os.path.abspath(__file__))
COMPUTE = r"\d+[FBIW]\d+"
PAIR = r"\(\d+F\d+;\d+[BI]\d+\)OVERLAP_F_B"
CELL = re.compile(rf"{COMPUTE}|{PAIR}|\d+(SEND|RECV)_[FB]\d+|\d+(UNSHARD|RESHARD|REDUCE_GRAD)")


class BadInput(Exception):
    """What the user can put right; its text is one line."""


class Order:
    """A file of actions, one line per rank: its cells, and on which rank each stage is."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, newline="") as file:
                self.lines = [[cell.strip() for cell in row if cell.strip()] for row in csv.reader(file)]
        except OSError as error:
            raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
        self.rank_of, microbatches = {}, set()
        for rank, line in enumerate(self.lines):
            for number, cell in enumerate(line, 1):
                if not CELL.fullmatch(cell):
                    raise BadInput(f"{path}:{rank + 1}: cell {number}: '{cell}' is not an action that PyTorch's runtime "
                                   "knows; expected a file of `plumbline schedule NAME --format torch-comms`")
            for stage, microbatch in re.findall(r"\b(\d+)F(\d+)", " ".join(line)):
                self.rank_of[int(stage)] = rank
                microbatches.add(int(microbatch))
        self.num_stages, self.num_microbatches = len(self.rank_of), len(microbatches)
        self.has_transfers = any("SEND" in cell or "SHARD" in cell for line in self.lines for cell in line)

    def stages(self, rank):
        return sorted(stage for stage in self.rank_of if self.rank_of[stage] == rank)


class Job:
    """The schedule, the user's modules and the batch, on this rank."""

    def __init__(self, order, user, device, seed):
        self.order, self.user, self.device, self.seed = order, user, device, seed
        self.rank = dist.get_rank()
        self.modules = {stage: self.module(stage) for stage in order.stages(self.rank)}
        stages = [PipelineStage(module, stage, order.num_stages, device) for stage, module in self.modules.items()]
        self.schedule = _PipelineScheduleRuntime(stages, order.num_microbatches, loss_fn=user.loss)
        self.schedule._load_csv(order.path, format="compute_comms" if order.has_transfers else "compute_only")
        torch.manual_seed(seed)
        self.inputs, self.targets = (tensor.to(device) for tensor in user.batch(order.num_microbatches))
        for name, tensor in (("inputs", self.inputs), ("targets", self.targets)):
            if len(tensor) % order.num_microbatches != 0:
                raise BadInput(f"batch({order.num_microbatches}): the first dimension of the {name} is {len(tensor)}; "
                               "expected a multiple of the number of microbatches")

    def module(self, stage):
        """The user's module of a stage; the same weights whenever it is made."""
        torch.manual_seed(self.seed + 1 + stage)
        return self.user.model(stage, self.order.num_stages).to(self.device)

    def step(self):
        """One step; returns how long it took here, in ns, and the losses where the last stage is."""
        for module in self.modules.values():
            module.zero_grad(set_to_none=True)
        self.finish()
        dist.barrier()
        start = time.monotonic_ns()
        inputs, targets, losses = (), {}, []
        if 0 in self.modules:
            inputs = (self.inputs,)
        if self.order.num_stages - 1 in self.modules:
            targets = {"target": self.targets, "losses": losses}
        self.schedule.step(*inputs, return_outputs=False, **targets)
        self.finish()
        return time.monotonic_ns() - start, losses

    def finish(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def reference(self):
        """All stages in a row on this device: the microbatches one after the other, gradients of the mean loss."""
        modules = [self.module(stage) for stage in range(self.order.num_stages)]
        count = self.order.num_microbatches
        for inputs, targets in zip(self.inputs.chunk(count), self.targets.chunk(count)):
            value = inputs
            for module in modules:
                value = module(value)
            (self.user.loss(value, targets) / count).backward()
        return modules


def gathered(value):
    """The value of every rank, on every rank."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def gradient_differences(job):
    """For each parameter of this rank: (name, largest difference from one device's gradient / its largest gradient).

    A text instead, where they cannot be compared.
    """
    modules, differences = job.reference(), []
    for stage, module in job.modules.items():
        for (name, ours), theirs in zip(module.named_parameters(), modules[stage].parameters()):
            if not torch.equal(ours, theirs):
                return (f"model({stage}, {job.order.num_stages}) gives other weights for '{name}' each time; expected the "
                        "same, so that one device can be compared (or use --no-check)")
            if ours.grad is None and theirs.grad is None:
                continue
            if ours.grad is None or theirs.grad is None:
                differences.append((f"stage {stage} {name}", float("inf")))
                continue
            largest = theirs.grad.abs().max().item()
            difference = (ours.grad - theirs.grad).abs().max().item()
            differences.append((f"stage {stage} {name}", difference / largest if largest else difference))
    return differences


def traced_order(path):
    """The actions that a trace shows, in the order in which they began."""
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    ranges = [event for event in events
              if event.get("cat") == "user_annotation" and event.get("name", "").startswith("PP:")]
    return [event["name"][3:] for event in sorted(ranges, key=lambda event: event["ts"])]


def traced(job, count, path):
    """Runs `count` steps under the profiler and writes this rank's trace. Returns their lengths in ns."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if job.device.type == "cuda" else [])
    with profile(activities=activities) as profiler:
        lengths = [job.step()[0] for _ in range(count)]
    profiler.export_chrome_trace(path)
    return lengths


def run(job, options):
    """Checks, times and traces. Returns what happened, the same on every rank."""
    result = {"schedule": job.order.path, "ranks": len(job.order.lines), "stages": job.order.num_stages,
              "microbatches": job.order.num_microbatches, "torch": torch.__version__, "backend": dist.get_backend()}
    _, losses = job.step()
    result["loss"] = statistics.mean(loss for of_rank in gathered([loss.item() for loss in losses]) for loss in of_rank)
    if not options.no_check:
        of_ranks = gathered(gradient_differences(job))
        for text in of_ranks:
            if isinstance(text, str):
                raise BadInput(text)
        differences = [one for of_rank in of_ranks for one in of_rank]
        worst, result["largest_difference"] = max(differences, key=lambda one: one[1])
        result["parameters"] = len(differences)
        result["equal_to_the_bit"] = sum(difference == 0 for _, difference in differences)
        result["gradients_equal"] = result["largest_difference"] <= options.tolerance
        result["worst_parameter"] = worst
    lengths = gathered([job.step()[0] for _ in range(options.steps)])
    result["step_ns"] = [max(of_step) for of_step in zip(*lengths)]
    path = os.path.join(options.out, f"rank{job.rank}.json.gz")
    lengths = gathered(traced(job, options.traced, path))
    result["traced_step_ns"] = [max(of_step) for of_step in zip(*lengths)]
    ran = [cell.replace(" ", "") for cell in traced_order(path)]
    given = job.schedule.pipeline_order_with_comms[job.rank]
    result["order_as_given"] = gathered(ran == [str(action) for action in given] * options.traced)
    result["traces"] = [os.path.join(options.out, f"rank{rank}.json.gz") for rank in range(len(job.order.lines))]
    return result


def report(result, options):
    """Prints what happened. Returns the exit status."""
    ms = [f"{ns / 1e6:.1f}" for ns in result["step_ns"]]
    print(f"{result['schedule']}: {result['ranks']} ranks, {result['stages']} stages, {result['microbatches']} microbatches "
          f"(PyTorch {result['torch']}, {result['backend']}), loss {result['loss']:.6g}")
    good = all(result["order_as_given"])
    if not options.no_check:
        equal = result["gradients_equal"]
        good = good and equal
        print(f"gradients   {'equal to' if equal else 'DIFFER from'} one device's: largest difference "
              f"{result['largest_difference']:.2g} of a parameter's largest gradient ({result['worst_parameter']}), "
              f"tolerance {options.tolerance:g}; {result['equal_to_the_bit']} of {result['parameters']} equal to the bit")
    wrong = [str(rank) for rank, same in enumerate(result["order_as_given"]) if not same]
    print(f"order       {'NOT as given on rank ' + ', '.join(wrong) if wrong else 'as given, on every rank'}")
    if ms:
        print(f"step        {statistics.median(result['step_ns']) / 1e6:.1f} ms ({', '.join(ms)}); traced "
              f"{', '.join(f'{ns / 1e6:.1f}' for ns in result['traced_step_ns'])} ms")
    print(f"traces      {' '.join(result['traces'])}", flush=True)
    with open(os.path.join(options.out, "result.json"), "w") as file:
        json.dump(result, file, indent=1)
    if options.predicted:
        command = [*shlex.split(options.plumbline), "compare", options.predicted, *result["traces"]]
        print("$ " + shlex.join(command), flush=True)
        good = subprocess.run(command).returncode == 0 and good
    return 0 if good else 1


def user_module(path):
    """The user's Python file as a module that has what is needed."""
    spec = importlib.util.spec_from_file_location("user_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        spec.loader.exec_module(module)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    for name in ("model", "batch", "loss"):
        if not callable(getattr(module, name, None)):
            raise BadInput(f"{path}: has no function {name}; expected model, batch and loss (see run_schedule.py --help)")
    return module


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("order", metavar="ORDER.csv", help="written by `plumbline schedule NAME --format torch-comms`")
    parser.add_argument("--model", default=os.path.join(HERE, "transformer.py"), metavar="FILE.py",
                        help="your stages, batch and loss (default: transformer.py beside this script)")
    parser.add_argument("--out", default="run", metavar="DIR", help="where traces and result.json go (default: run)")
    parser.add_argument("--backend", choices=("gloo", "nccl"), default=None,
                        help="default: nccl with a GPU per rank of this machine, otherwise gloo")
    parser.add_argument("--steps", type=int, default=5, help="timed steps without the profiler (default: 5)")
    parser.add_argument("--traced", type=int, default=2, help="steps under the profiler (default: 2)")
    parser.add_argument("--tolerance", type=float, default=1e-5, metavar="X",
                        help="how much a gradient may differ, relative to the largest of its parameter (default: 1e-5, "
                        "for float32: only the order of sums differs)")
    parser.add_argument("--no-check", action="store_true", help="do not compute the gradients on one device")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS",
                        help="a message that takes longer means a hang (default: 120)")
    parser.add_argument("--predicted", metavar="FILE", help="lay the traces over this prediction (simulate --json)")
    parser.add_argument("--plumbline", default="plumbline", metavar="COMMAND", help="for --predicted (default: plumbline)")
    return parser.parse_args()


def join(options, order):
    """Joins the group of processes. Returns this rank's device."""
    ranks = int(os.environ["WORLD_SIZE"])
    if ranks != len(order.lines):
        raise BadInput(f"{order.path} has {len(order.lines)} lines, one per rank, but torchrun started {ranks} processes; "
                       f"expected {len(order.lines)}")
    local, gpus = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    backend = options.backend or ("nccl" if gpus >= int(os.environ["LOCAL_WORLD_SIZE"]) else "gloo")
    if backend == "nccl" and local >= gpus:
        raise BadInput(f"--backend nccl: this machine has {gpus} GPUs; expected one for each of its ranks")
    device = torch.device("cuda", local) if backend == "nccl" else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(backend, init_method=os.environ.get("RUN_SCHEDULE_STORE", "env://"), world_size=ranks,
                            rank=int(os.environ["RANK"]), timeout=datetime.timedelta(seconds=options.timeout))
    return device


def start_all(count):
    """Starts this script as `count` processes on this machine. Returns the largest exit status."""
    with tempfile.TemporaryDirectory() as folder:
        shared = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "RUN_SCHEDULE_STORE": f"file://{folder}/store"}
        if "OMP_NUM_THREADS" not in os.environ:
            shared["OMP_NUM_THREADS"] = 1
        processes = []
        for rank in range(count):
            own = {"RANK": rank, "LOCAL_RANK": rank, **shared}
            processes.append(subprocess.Popen([sys.executable, *sys.argv],
                                              env={**os.environ, **{name: str(value) for name, value in own.items()}}))
        return max(abs(process.wait()) for process in processes)


def run_rank(options, order):
    """What one process does. Returns the exit status."""
    user = user_module(options.model)
    device = join(options, order)
    os.makedirs(options.out, exist_ok=True)
    result = run(Job(order, user, device, options.seed), options)
    status = report(result, options) if dist.get_rank() == 0 else 0
    dist.barrier()
    dist.destroy_process_group()
    return status


def main():
    options = parsed()
    try:
        order = Order(options.order)
        return run_rank(options, order) if "RANK" in os.environ else start_all(len(order.lines))
    except BadInput as error:
        if int(os.environ.get("RANK", 0)) == 0:
            print(f"run_schedule.py: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
