#!/usr/bin/env python3
"""Stands in for the program on a machine with a GPU: takes its options and runs the real one on the CPU, in small networks.

What goes wrong is told by PLUMB_FAULTS, words with commas between them: shared (virtual devices share all multiprocessors), hang (runs with op graphs
never end), half (bf16 computes other losses), slow (a step by op graphs takes twice as long), attention (with cuDNN's attention
losses are others), convolutions (likewise with its convolutions). PLUMB_REAL is the program.
"""
import json
import os
import subprocess
import sys
import time

WITH_VALUE = {"--device-sms", "--link-latency", "--link-bandwidth", "--watchdog", "--numbers", "--device-mode", "--product-table", "--product-trials", "--attention", "--attention-table", "--convolutions", "--convolution-table"}


def small(network):
    """A network of the same layers that trains on the CPU in no time."""
    return "resnet-20-tiny" if "resnet" in network else "gpt-tiny"


faults = os.environ.get("PLUMB_FAULTS", "").split(",")
words, given = sys.argv[1:], []
on_gpu = "cuda" in words
skip = False
for word in words:
    if skip or word == "--no-graphs" or word in WITH_VALUE:
        skip = not skip and word in WITH_VALUE
    else:
        before = given[-1] if given else ""
        given.append(small(word) if before == "--network" else {"--samples": "1"}.get(before, "cpu" if word == "cuda" else word))
train = on_gpu and words[0] == "train"
if train:
    given += ["--executor", "streams"]
if train and "hang" in faults and "--no-graphs" not in words:
    time.sleep(1000)
done = subprocess.run([os.environ["PLUMB_REAL"], *given], capture_output=True, text=True)
sys.stdout.write(done.stdout + ("cuda\n" if words == ["version"] else ""))
sys.stderr.write(done.stderr)
if train and done.returncode == 0:
    path = words[words.index("--json") + 1]
    document = json.load(open(path))
    if "shared" in faults:
        document["machine"] = "8 virtual devices share all SMs (cuGreenCtxCreate: not supported)"
    if ("half" in faults and "bf16" in words) or any(work in faults and "--" + work in words for work in ("attention", "convolutions")):
        document["training"]["losses"] = [1.1 * loss for loss in document["training"]["losses"]]
    document["step_time_ns"] = 2000000 if "slow" in faults and "--no-graphs" not in words else 1000000
    json.dump(document, open(path, "w"))
sys.exit(done.returncode)
