#!/usr/bin/env python3
"""Which published planner's plan ever made the search's answer better: every job is searched with the plans of all planners
and with none; where the answers differ, also with those of each planner alone and with all but that one. Writes seeds.md.

    PYTHONPATH=build/release/python python3 results/planners/seeds.py [PART OF A PROFILE'S PATH]...
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import plumbline
import study_tools as tools

FOLDER = tools.RESULTS / "planners"
# Those of results/plan; the jobs of results/recipes and results/search are for systems, where planners are not asked.
PLANS = [{"network": "gpt2-medium", "cluster": str(tools.RESULTS.parent / "tools/examples/a100_v100.json"), "batch": 8},
         {"network": "llama2-70b", "cluster": "a100-128x8", "batch": 1024}]


def jobs():
    for profile in json.loads((FOLDER / "scored.json").read_text()):
        path = tools.RESULTS / profile["network"]
        yield profile["network"].removeprefix("planners/inputs/"), {
            "network": str(path), "cluster": profile["cluster"], "batch": profile["microbatches"], "simulations": 8000}
    for job in PLANS:
        yield job["network"], job


def step(job, planners):
    found = plumbline.plan(all=True, time_limit=1e6, planners=planners, **job)
    return found.document["best"][0]["step_time_ns"], found.document


def seed_rows(job):
    """Step with all planners and with none; and by planner that gave a plan, where these differ: the step with it alone,
    and with all but it."""
    ours, document = step(job, "all")
    theirs = sorted(name for name, ns in document.get("planners_ns", {}).items() if ns)
    none = step(job, "none")[0]
    rows = {}
    for name in theirs if none != ours else []:
        others = ",".join(other for other in theirs if other != name) or "none"
        rows[name] = step(job, name)[0], step(job, others)[0]
    return ours, none, rows


def main():
    parts = sys.argv[1:]
    chosen = [(name, job) for name, job in jobs() if not parts or any(part in name for part in parts)]
    helped, table = {}, []
    for name, job in chosen:
        ours, none, rows = seed_rows(job)
        tools.progress(f"{name}: {ours} with all, {none} with none")
        best = min([alone for alone, _ in rows.values()], default=none)
        alone = [planner for planner, (by_it, _) in rows.items() if by_it == best and by_it < none]
        needed = [planner for planner, (_, without) in rows.items() if without > ours]
        harmful = [planner for planner, (_, without) in rows.items() if without < ours]
        for planner in alone + needed:
            helped.setdefault(planner, set()).add(name)
        ms = lambda ns: tools.fixed(ns / 1e6, 3)
        table.append([f"`{name}`", ms(ours), ms(none), tools.signed_percent(none / ours - 1), ", ".join(alone) or "-",
                      ", ".join(needed) or "-", ", ".join(harmful) or "-"])
    text = tools.markdown(["job", "all planners, ms", "none, ms", "none is slower by", "best alone", "worse without",
                           "better without"], table, [False, True, True, True, False, False, False])
    counts = sorted(helped.items(), key=lambda each: (-len(each[1]), each[0]))
    text += "\n" + tools.markdown(["planner", "jobs whose answer it made better"],
                                  [[name, str(len(names))] for name, names in counts], [False, True])
    print(text, end="")
    if not parts:
        page = FOLDER / "seeds.md"
        page.write_text(tools.between_marks(page.read_text(), text))
    return 0


if __name__ == "__main__":
    tools.run(main)
