#!/usr/bin/env python3
"""Every built-in network on every built-in cluster: options that say what a job has anyway change no byte of the answer.

    tests/plans/one_price.py PROGRAM

Prints every combination where they do, and how many were tried. Exit status 1: there is one.
"""
import itertools
import json
import subprocess
import sys

SAYS_NOTHING = (["--tp", "1"], ["--dp", "1", "--cp", "1", "--ep", "1"], ["--zero", "0"], ["--recompute", "none"],
                ["--precision", "mixed"])


def names(program, kind):
    answer = subprocess.run([program, "ask", "-"], input=json.dumps({"ask": kind}), capture_output=True, text=True)
    return [entry["name"] for entry in json.loads(answer.stdout)[kind]]


def answer(program, network, cluster, more):
    command = [program, "simulate", "1f1b", "-p", "2", "-m", "4", "--network", network, "--cluster", cluster, "--summary", *more]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def main():
    program = sys.argv[1]
    tried = unlike = 0
    clusters = [cluster for cluster in names(program, "clusters") if cluster != "host"]
    for network, cluster in itertools.product(names(program, "networks"), clusters):
        usual = answer(program, network, cluster, [])
        for more in SAYS_NOTHING:
            tried += 1
            if answer(program, network, cluster, more) != usual:
                unlike += 1
                print(f"{network} on {cluster}: {' '.join(more)} changes the answer")
    print(f"{tried} tried, {unlike} change something")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
