#!/usr/bin/env python3
"""Whether the commands that `plumbline plan` prints give what it promised.

For every network, cluster and runtime the plans of a short search are taken from `plan --json`; the `simulate` command of
each is run as it stands and must have the same step, the same peak and the same verdict. The launch of Megatron-LM is
written to a file and read back by `simulate --job`, with the same demand; where Megatron-LM pads the vocabulary (which the
plan notes), step and peak may differ by a ten-thousandth. What cannot be said has a reason, which is
counted. Exit status 1: some plan was not kept.

    tests/plans/round_trips.py build/release/tools/plumbline-simulator          # more than 200 plans
    tests/plans/round_trips.py build/release/tools/plumbline-simulator --few    # seconds
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
FEW = (["gpt3-13b", "mixtral-8x7b"], ["h100-2x8"], RUNTIMES)
FEW_RANGES = ["--tp", "2", "--cp", "1", "--pp", "2,4", "--microbatch-size", "1", "--recompute", "none", "--zero", "0"]


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


def nearly(found, expected):
    if not isinstance(found, tuple):
        return False
    return all(abs(a - b) <= 1e-4 * b for a, b in zip(found[:2], expected[:2])) and found[2] == expected[2]


class Trips:
    def __init__(self, program, ranges=()):
        self.program = program
        self.ranges = list(ranges)  # options of every search
        self.kept = collections.Counter()
        self.refused = collections.Counter()
        self.broken = []

    def compare(self, kind, plan, words, folder):
        expected = (plan["step_time_ns"], plan["peak_memory_bytes"], plan["memory"]["verdict"])
        found = figures(self.program, words, folder)
        if found == expected:
            self.kept[kind] += 1
        elif kind == "launch" and "launch_note" in plan and nearly(found, expected):
            self.kept["launch with a padded vocabulary, within a ten-thousandth"] += 1
        else:
            self.broken.append(f"{kind}: {shlex.join(words)}\n  expected {expected}\n  found    {found}")

    def check(self, plan, cluster, folder):
        if isinstance(plan["simulate"], dict):
            self.refused["simulate: " + plan["simulate"]["refused"]] += 1
        else:
            self.compare("simulate", plan, shlex.split(plan["simulate"])[1:], folder)
        if "launch" not in plan:
            return
        if isinstance(plan["launch"], dict):
            self.refused["launch: " + plan["launch"]["refused"]] += 1
            return
        pathlib.Path(folder, "launch.sh").write_text(plan["launch"] + "\n")
        self.compare("launch", plan, ["simulate", "--job", "launch.sh", "--cluster", cluster], folder)

    def plans(self, network, cluster, runtime, batch):
        with tempfile.TemporaryDirectory() as folder:
            words = ["plan", "--network", network, "--cluster", cluster, "--batch", str(batch), "--runtime", runtime,
                     "--simulations", "24", "--time-limit", "60", "-o", "plan.json", "--json", "answer.json",
                     *self.ranges]
            result = run(self.program, words, folder)
            if result.returncode == 3:
                self.refused["nothing fits"] += 1
            elif result.returncode != 0:
                self.broken.append(f"{shlex.join(words)}\n  {result.stderr.strip()}")
            else:
                for plan in json.loads(pathlib.Path(folder, "answer.json").read_text())["best"]:
                    self.check(plan, cluster, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="plumbline or plumbline-simulator")
    parser.add_argument("--few", action="store_true", help="a sample")
    arguments = parser.parse_args()
    networks, clusters, runtimes = FEW if arguments.few else (NETWORKS, CLUSTERS, RUNTIMES)
    trips = Trips(str(pathlib.Path(arguments.program).resolve()), FEW_RANGES if arguments.few else [])
    for network in networks:
        for cluster in clusters:
            for runtime in runtimes:
                trips.plans(network, cluster, runtime, 64)
    for kind, count in sorted(trips.kept.items()):
        print(f"{kind}: {count} plans with the same step, peak and verdict")
    for reason, count in trips.refused.most_common():
        print(f"refused {count} times: {reason}")
    for broken in trips.broken:
        print("NOT KEPT " + broken)
    return 1 if trips.broken else 0


if __name__ == "__main__":
    sys.exit(main())
