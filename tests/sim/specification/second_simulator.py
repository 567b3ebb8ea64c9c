#!/usr/bin/env python3
"""A second simulator, which follows sim/SPECIFICATION.md and schedules/document/FORMAT.md section by section.

Its author had read the program, too; what both misread, it cannot find.

    second_simulator.py CASES

CASES has one JSON object per line: a schedule document, what its stages cost, the options, and what the program
says. Prints every difference; the exit status is 0 when there is none. Section numbers (§) are those of the page.
Not here: half-duplex and shared links, contention, jitter, methods, orders decided at run time, the critical path.
"""
import json
import sys
import traceback

from second_figures import Run
from second_memory import CLASSES, Memory
from second_program import Simulator


def compare(case):
    """What differs, as lines."""
    want, found = case["answer"], []

    def check(what, ours, theirs):
        if ours != theirs:
            found.append(f"{what}: the page says {ours}, the program {theirs}")

    def near(what, ours, theirs):
        if abs(ours - theirs) > 1e-9 * max(1, abs(theirs)):
            found.append(f"{what}: the page says {ours}, the program {theirs}")

    sim = Simulator(case)
    check("§3 steps", [s.text() for s in sim.steps], want["steps"])
    check("§6.6 buffers", [sim.buffers_used(), *sim.moved], want["buffers"])
    if found:
        return found
    memory = Memory(sim)
    check("§10.1 versions", memory.read, want["versions"])
    if not sim.forward:
        check("§10.3 delays", memory.delays(), want["delays"])
    run = Run(sim)
    check("§1.6 hangs", run.hangs, want["hangs"])
    if found or run.hangs:
        return found
    check("§5 starts", [s.start for s in sim.steps], want["start"])
    check("§4 ends", [s.end for s in sim.steps], want["end"])
    check("§6.7 messages", [[m.start, m.done, m.available, m.sent] for m in sim.messages], want["messages"])
    figures = run.figures()
    for key in ("ticks_per_ns", "makespan", "longest", "updates", "step_time"):
        check(f"§9 {key}", figures[key], want[key])
    for key in ("bubble_fraction", "bubble_rate", "utilization"):
        near(f"§9 {key}", figures[key], want[key])
    waited = [[d, u.start, u.waited_for] for d in range(sim.devices) for u in memory.units(d) if u.start and getattr(u, "waited_for", None)]
    check("§9.3 waited_for", waited, [w for w in want["waited_for"] if w[2] != "warmup"])
    for d, theirs in enumerate(want["devices"]):
        ours = figures["devices"][d]
        for key in ("busy", "useful", "first", "last", "causes"):
            check(f"§9 device {d} {key}", ours[key], theirs[key])
        near(f"§8.5 device {d} peak_activations", memory.activations(d) / (sim.units or 1), theirs["peak_activations"])
        if sim.memory and not sim.units:
            peak, by_class = memory.peak(d)
            check(f"§8 device {d} peak", peak, theirs["peak_memory"])
            check(f"§8 device {d} classes", [by_class[c] for c in CLASSES], theirs["peak_by_class"])
    return found


def main():
    failed = 0
    with open(sys.argv[1]) as lines:
        for number, line in enumerate(lines):
            case = json.loads(line)
            try:
                found = compare(case)
            except Exception:  # what the page does not foresee
                found = [" / ".join(traceback.format_exc().splitlines()[-3:])]
            failed += bool(found)
            for difference in found if failed < 20 else []:
                print(f"case {number} ({case['document']['name']}, {case['mode']}): {difference[:400]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
