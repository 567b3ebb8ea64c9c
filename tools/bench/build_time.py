#!/usr/bin/env python3
"""What the compiler and linker took for each program, from the log of one build.

    tools/bench/build_time.py [BUILD]      (default: build/release)

Adds up the times of the jobs that each program needs (ninja's own list of its inputs) in BUILD/.ninja_log, by folder. A
time is a job's, from its start to its end: build on an idle machine, with as many jobs as cores, from nothing and
without ccache:

    rm -r build/release && cmake --preset release -DPLUMB_TESTS=OFF -DPLUMB_BENCH=OFF
    CCACHE_DISABLE=1 cmake --build build/release --target plumbline plumbline-simulator plumbline-core
"""
import collections
import os
import subprocess
import sys

PROGRAMS = ("plumbline", "plumbline-simulator", "plumbline-core")


def read_log(path):
    """Seconds that made each output; of an output that was made several times, the last."""
    seconds = {}
    with open(path, encoding="utf-8") as log:
        if not log.readline().startswith("# ninja log v"):
            sys.exit(f"{path}: expected a log of ninja")
        for line in log:
            start, end, _, output, _ = line.rstrip("\n").split("\t")
            seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def needed(build, target):
    """Everything that `target` is made from, itself included; empty where it is not configured."""
    answer = subprocess.run(["ninja", "-C", build, "-t", "inputs", target], capture_output=True, text=True)
    return {target, *answer.stdout.split("\n")} if answer.returncode == 0 else set()


def folder_of(output):
    return "CUDA" if ".dir/cuda/" in output or "trainer_cuda.dir" in output else output.split("/")[0]


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build/release"
    seconds = read_log(os.path.join(build, ".ninja_log"))
    whole = 0
    for program in PROGRAMS:
        outputs = needed(build, f"tools/{program}") & set(seconds)
        if f"tools/{program}" not in outputs:
            print(f"{program}: not built")
            continue
        by_folder = collections.Counter()
        for output in outputs:
            by_folder[folder_of(output)] += seconds[output]
        total = sum(by_folder.values())
        whole = whole or total
        parts = ", ".join(f"{folder} {taken:.0f}" for folder, taken in by_folder.most_common() if taken >= 1)
        print(f"{program}: {total:.0f} s, {100 * total / whole:.0f} % of {PROGRAMS[0]} ({parts})")


if __name__ == "__main__":
    main()
