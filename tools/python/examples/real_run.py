#!/usr/bin/python3
"""A real run over its prediction: the traces of a run's ranks give its step; its order is simulated with what its stages took.

    PYTHONPATH=build/release/python tools/python/examples/real_run.py TRACE...

The traces of four real ranks lie in tests/sim/traces/data/zb-h1.
"""
import sys

import plumbline

run = plumbline.trace(*sys.argv[1:])
size = {"devices": len(run.document["devices"]), "microbatches": 8, "profile": run}
print(f"the run has the order of {run.schedule}")
print(plumbline.compare(plumbline.simulate(run.schedule, **size), run))
for name in ("1f1b", "gpipe", "zb-h1"):
    other = plumbline.simulate(name, **size, spans=False)
    print(f"{name:8} {other.step_time_ns / 1e6:.1f} ms a step")
