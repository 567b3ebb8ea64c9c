#!/usr/bin/python3
"""A schedule of one's own: written as text, checked, simulated, and drawn for a paper.

    PYTHONPATH=build/release/python tools/python/examples/own_schedule.py
"""
import pathlib
import tempfile

import plumbline

# Two devices, three microbatches: device 1 forgot a backward.
DRAFT = """d0: 0F0 0F1 0B0 0F2 0B1 0B2
d1: 1F0 1B0 1F1 1B1 1F2
"""

with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "mine.txt"
    file.write_text(DRAFT)
    checked = plumbline.validate(str(file))
    print(*checked.findings, sep="\n")

    file.write_text(DRAFT.rstrip() + " 1B2\n")
    print(plumbline.validate(str(file)))
    run = plumbline.simulate(str(file), cost="F=1,B=2")
    print(f"bubble {run.bubble_fraction:.1%}, against {plumbline.simulate('1f1b', devices=2, microbatches=3).bubble_fraction:.1%} of 1f1b")
    busy = [sum(end - start for device, start, end in zip(run.spans.device, run.spans.start_ns, run.spans.end_ns) if device == d)
            for d in (0, 1)]
    print("busy", *(f"{ns / 1e6:g} ms" for ns in busy))
    (pathlib.Path(folder) / "mine.svg").write_text(run.report("svg"))
