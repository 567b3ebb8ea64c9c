#!/usr/bin/python3
"""A real run over its prediction: the traces of a run's ranks give its step; its order is simulated with what its stages took.

    PYTHONPATH=build/release/python tools/python/examples/real_run.py PLUMBLINE TRACE...

PLUMBLINE is the program, which reads traces; the ones of four real ranks lie in tests/sim/traces/data/zb-h1.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import plumbline

program, *traces = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    measured, profile = Path(folder) / "measured.json", Path(folder) / "profile.json"
    subprocess.run([program, "trace", *traces, "--json", measured, "--profile", profile], check=True, stdout=subprocess.DEVNULL)
    predicted = plumbline.simulate("zb-h1", devices=4, microbatches=8, profile=str(profile))
    print(plumbline.compare(predicted, str(measured)))
    for name in ("1f1b", "gpipe", "zb-h1"):
        other = plumbline.simulate(name, devices=4, microbatches=8, profile=str(profile), spans=False)
        print(f"{name:8} {other.step_time_ns / 1e6:.1f} ms a step")
