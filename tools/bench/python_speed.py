#!/usr/bin/python3
"""Simulations a second on one core, as medians of seven rounds: PYTHONPATH=BUILD/python tools/bench/python_speed.py"""
import json
import statistics
import time

import plumbline

CALLS = 300
SIZE = {"devices": 8, "microbatches": 32, "cost": "F=1,B=2"}


def rate(call):
    rounds = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(CALLS):
            call()
        rounds.append(CALLS / (time.process_time() - start))
    return statistics.median(rounds)


summary = rate(lambda: plumbline.simulate("1f1b", spans=False, **SIZE))
spans = rate(lambda: plumbline.simulate("1f1b", **SIZE).spans)
request = json.dumps({"ask": "simulate", "schedule": "1f1b", **SIZE})
document = rate(lambda: json.loads(plumbline._core.ask(request)))
print(f"1f1b p=8 m=32, simulations a second of one core\nsummary   {summary:8.0f}")
print(f"spans     {spans:8.0f}  {spans / summary:.2f} of summary\ndocument  {document:8.0f}  {document / summary:.2f} of summary")
