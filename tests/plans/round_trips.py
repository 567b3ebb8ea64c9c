#!/usr/bin/env python3
"""Whether the commands that `plumbline plan` prints give what it promised.

For every network, cluster and runtime the plans of a short search are taken from `plan --json`; the `simulate` command of
each is run as it stands and must have the same step, the same peak and the same verdict. What launches a plan (the command
of Megatron-LM, the configurations of torchtitan and DeepSpeed) is written to a file and read back by `simulate --job`, with
the same demand. Then the launch files of tests/models/launches/data are planned for (`plan --from`), with the same demand
again. What cannot be said has a reason, which is counted. Exit status 1: some plan was not kept, or a run over everything
reached fewer than 200 plans.

    tests/plans/round_trips.py build/release/tools/plumbline-simulator          # more than 200 plans
    tests/plans/round_trips.py build/release/tools/plumbline-simulator --few    # a sample
    tests/plans/round_trips.py build/release/tools/plumbline-simulator --network gpt2-xl,llama2-7b    # only these
    tests/plans/round_trips.py build/release/tools/plumbline-simulator --time-limit 20    # seconds of every search

What is broken is told on standard error as soon as it is found, and after every network how far the run is.
"""

import argparse
import collections
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

NETWORKS = ["gpt2-xl", "gpt3-13b", "llama2-7b", "llama3-8b", "llama2-70b", "llama3-70b", "mixtral-8x7b", "qwen3-30b-a3b",
            "gpt3-175b"]
CLUSTERS = ["a100-1x8", "h100-2x8", "a100-4x8", "h100-8x8", "b200-4x8"]
RUNTIMES = ["none", "megatron", "torchtitan", "pytorch", "deepspeed"]
LEAST = 200  # plans that a run over everything reaches

# Options that a printed command must repeat: network, cluster, runtime, options.
TYPED = [
    ("llama3-8b", "h100-1x8", "megatron", ["--sequence", "4096", "--memory-limit", "70GiB"]),
    ("llama3-8b", "h100-1x8", "megatron", ["--precision", "fp8"]),
    ("llama3-8b", "h100-1x8", "torchtitan", ["--precision", "fp8-current", "--sequence", "4096"]),
    ("gpt2-small", "a100-1x8", "megatron", ["--precision", "single"]),
    ("gpt2-small", "a100-1x8", "deepspeed", ["--memory-limit", "30GiB"]),
    ("mixtral-8x7b", "b200-2x8", "none", ["--precision", "mxfp8", "--sequence", "2048"]),
    ("Llama3_8B", "H100", "Megatron-LM", ["--devices", "16"]),
]

DATA = pathlib.Path(__file__).resolve().parents[1] / "models/launches/data"
# Launch files, and what the search for a better plan is given.
LAUNCHES = {
    "gpt3_175b.sh": ["--job-set", "NODES=8", "--cluster", "h100", "--tp", "8", "--pp", "8"],
    "llama3_405b.toml": ["--cluster", "b200-8x8", "--batch", "64", "--tp", "8", "--pp", "4,8"],
    "llama3_70b_recipe.yaml": ["--cluster", "h100-8x8", "--tp", "4", "--pp", "4,8", "--chunks", "2,5"],
    "llama2_70b_nemo.yaml": ["--cluster", "h100-16x8", "--tp", "4", "--pp", "4,8", "--chunks", "2,4"],
    "megatron.log": ["--cluster", "h100-2x8", "--pp", "2,4", "--memory-limit", "160GiB"],
    "mixtral_8x7b.sh": ["--cluster", "h100-4x8", "--tp", "1,2", "--pp", "4", "--ep", "4,8"],
    "bloom_176b.slurm": ["--cluster", "jean-zay-48x8", "--tp", "4", "--pp", "10"],
    "zero3.json": ["--network", "llama3-8b", "--cluster", "h100-1x8", "--tp", "1", "--pp", "2,4"],
}
LAUNCH_RANGES = ["--cp", "1", "--microbatch-size", "1", "--recompute", "none,full"]

FEW = (["gpt3-13b", "llama3-8b"], ["h100-2x8"], RUNTIMES)
FEW_RANGES = ["--tp", "2", "--cp", "1", "--pp", "2,4", "--microbatch-size", "1", "--recompute", "none", "--zero", "0"]

LAUNCH_NAMES = {"megatron": "launch.sh", "torchtitan": "launch.toml", "deepspeed": "launch.json"}


def run(program, words, folder):
    return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)


def figures(program, words, folder):
    """Step, peak and verdict that `simulate` gives, or what it said instead."""
    result = run(program, [*words, "--summary", "--json", "-"], folder)
    if not result.stdout.startswith("{"):
        return result.stderr.strip()
    timeline = json.loads(result.stdout)
    fullest = max(timeline["devices"], key=lambda device: device["peak_memory_bytes"])
    verdict = fullest.get("memory_need", {}).get("verdict", "")
    return timeline["step_time_ns"], fullest["peak_memory_bytes"], verdict


def plain(name):
    return name.lower().replace("-", "").removesuffix("lm")


class Trips:
    def __init__(self, program, time_limit, ranges=()):
        self.program = program
        self.time_limit = str(time_limit)
        self.ranges = list(ranges)  # options of every search
        self.kept = collections.Counter()
        self.refused = collections.Counter()
        self.broken = []
        self.reached = 0

    def compare(self, kind, plan, words, folder):
        expected = (plan["step_time_ns"], plan["peak_memory_bytes"], plan["memory"]["verdict"])
        found = figures(self.program, words, folder)
        if found == expected:
            self.kept[kind] += 1
        else:
            self.note_broken(f"{kind}: {shlex.join(words)}\n  expected {expected}\n  found    {found}")

    def note_broken(self, what):
        self.broken.append(what)
        print("NOT KEPT " + what, file=sys.stderr, flush=True)

    def check_launch(self, plan, runtime, options, folder):
        if "launch" not in plan:
            return
        if isinstance(plan["launch"], dict):
            self.refused["launch: " + plan["launch"]["refused"]] += 1
            return
        name = LAUNCH_NAMES[plain(runtime)]
        pathlib.Path(folder, name).write_text(plan["launch"] + "\n")
        if "launch_csv" in plan:
            pathlib.Path(folder, "schedule.csv").write_text(plan["launch_csv"])
        words = ["simulate", "--job", name]
        simulate = shlex.split(plan["simulate"]) if isinstance(plan["simulate"], str) else []
        for option in ["--cluster", "--rates", "--memory-limit"]:
            if option in simulate:
                words += simulate[simulate.index(option):][:2]
        if "--cluster" not in words:
            words += options[options.index("--cluster"):][:2]
        if name.endswith(".json"):  # says nothing of the network
            words += options[options.index("--network"):][:2]
            words += ["--sequence", options[options.index("--sequence") + 1]] if "--sequence" in options else []
        self.compare("launch of " + runtime, plan, words, folder)

    def check(self, plan, runtime, options, folder):
        self.reached += 1
        if isinstance(plan["simulate"], dict):
            self.refused["simulate: " + plan["simulate"]["refused"]] += 1
        else:
            self.compare("simulate", plan, shlex.split(plan["simulate"])[1:], folder)
        self.check_launch(plan, runtime, options, folder)

    def search(self, options, runtime):
        """The plans of a search with these options, checked."""
        with tempfile.TemporaryDirectory() as folder:
            words = ["plan", *options, "--simulations", "24", "--time-limit", self.time_limit, "-o", "plan.json", "--json",
                     "answer.json"]
            result = run(self.program, words, folder)
            if result.returncode == 3:
                self.refused["nothing fits"] += 1
            elif result.returncode != 0:
                self.note_broken(f"{shlex.join(words)}\n  {result.stderr.strip()}")
            else:
                for plan in json.loads(pathlib.Path(folder, "answer.json").read_text())["best"]:
                    self.check(plan, runtime, options, folder)

    def plans(self, network, cluster, runtime, options=()):
        self.search(["--network", network, "--cluster", cluster, "--batch", "64", "--runtime", runtime, *self.ranges,
                     *options], runtime)

    def typed_and_launched(self):
        self.ranges = FEW_RANGES
        for network, cluster, runtime, options in TYPED:
            self.plans(network, cluster, runtime, options)
        for name, options in LAUNCHES.items():
            self.launched(name, options)

    def launched(self, name, options):
        """The plans for a job that exists; as that job computes, and priced as its own system runs."""
        before = self.reached
        system = {".toml": "torchtitan", ".json": "deepspeed", ".slurm": "deepspeed"}.get(pathlib.Path(name).suffix, "megatron")
        self.search(["--from", str(DATA / name), *options, *LAUNCH_RANGES], system)
        if self.reached == before:
            self.note_broken(f"plan --from {name}: found no plan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="plumbline or plumbline-simulator")
    parser.add_argument("--few", action="store_true", help="a sample")
    parser.add_argument("--network", type=lambda names: names.split(","), help="only these, and no launch files")
    parser.add_argument("--time-limit", type=float, default=60, help="seconds of every search (default: 60)")
    arguments = parser.parse_args()
    networks, clusters, runtimes = FEW if arguments.few else (arguments.network or NETWORKS, CLUSTERS, RUNTIMES)
    trips = Trips(str(pathlib.Path(arguments.program).resolve()), arguments.time_limit, FEW_RANGES if arguments.few else [])
    for network in networks:
        for cluster in clusters:
            for runtime in runtimes:
                trips.plans(network, cluster, runtime)
        print(f"{network}: {trips.reached} plans so far", file=sys.stderr, flush=True)
    if not arguments.network:
        trips.typed_and_launched()
    print(f"{trips.reached} plans")
    for kind, count in sorted(trips.kept.items()):
        print(f"{kind}: {count} plans with the same step, peak and verdict")
    for reason, count in trips.refused.most_common():
        print(f"refused {count} times: {reason}")
    if trips.broken:
        print(f"NOT KEPT: {len(trips.broken)}, told above")
    missing = {path.name for path in DATA.iterdir()} - set(LAUNCHES) - {"README.md"}
    if missing:
        print("NOT TRIED " + ", ".join(sorted(missing)))
    if not arguments.few and not arguments.network and trips.reached < LEAST:
        print(f"expected at least {LEAST} plans")
        return 1
    return 1 if trips.broken or missing else 0


if __name__ == "__main__":
    sys.exit(main())
