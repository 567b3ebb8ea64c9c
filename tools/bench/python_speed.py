#!/usr/bin/python3
"""Simulations a second on one core, as medians of seven rounds: PYTHONPATH=BUILD/python tools/bench/python_speed.py

A large timeline is simulated in a process that keeps freed memory, as the module does, and in one that gives it back
to the system, in turns."""
import json
import os
import statistics
import subprocess
import sys
import time

CALLS = 300
SIZE = {"devices": 8, "microbatches": 32, "cost": "F=1,B=2"}
BIG = {"devices": 64, "microbatches": 512, "chunks": 4, "cost": "F=1,B=2"}
BIG_CALLS = 5


def rate(call):
    rounds = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(CALLS):
            call()
        rounds.append(CALLS / (time.process_time() - start))
    return statistics.median(rounds)


def small_timelines():
    import plumbline

    summary = rate(lambda: plumbline.simulate("1f1b", spans=False, **SIZE))
    spans = rate(lambda: plumbline.simulate("1f1b", **SIZE).spans)
    request = json.dumps({"ask": "simulate", "schedule": "1f1b", **SIZE})
    document = rate(lambda: json.loads(plumbline._core.ask(request)))
    print(f"1f1b p=8 m=32, simulations a second of one core\nsummary   {summary:8.0f}")
    print(f"spans     {spans:8.0f}  {spans / summary:.2f} of summary")
    print(f"document  {document:8.0f}  {document / summary:.2f} of summary")


def big_timelines():
    """Milliseconds of processor time for a large timeline as an object and as a document, after a first one."""
    import plumbline

    request = json.dumps({"ask": "simulate", "schedule": "interleaved", **BIG, "want": ["timeline"]})
    for call in (lambda: plumbline.simulate("interleaved", **BIG), lambda: plumbline._core.ask(request)):
        call()
        start = time.process_time()
        for _ in range(BIG_CALLS):
            call()
        print(1000 * (time.process_time() - start) / BIG_CALLS)


def big_in_a_process(keep):
    environment = {**os.environ, "PLUMBLINE_KEEP_MEMORY": keep}
    ran = subprocess.run([sys.executable, __file__, "--big"], env=environment, capture_output=True, text=True, check=True)
    return [float(line) for line in ran.stdout.split()]


def main():
    if sys.argv[1:] == ["--big"]:
        big_timelines()
        return
    small_timelines()
    rounds = [[big_in_a_process(keep) for keep in ("1", "0")] for _ in range(5)]
    print("interleaved p=64 m=512 v=4, ms of one core     memory kept  given back")
    for k, name in enumerate(("timeline", "document of 24 MB")):
        kept, given_back = (statistics.median(times[side][k] for times in rounds) for side in (0, 1))
        print(f"{name:42} {kept:15.0f} {given_back:11.0f}  {given_back / kept:.1f} times as long")


main()
