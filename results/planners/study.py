#!/usr/bin/env python3
"""Runs the published planners on the inputs of their papers and compares cost and run time with the published programs.
Without names, all cases of cases.json run and README.md is updated. Exit status 3: a plan is worse than the published
one, or took more than a tenth of its time; with --scores: a published planner's plan is faster than ours.

    ./plumbline reproduce planners [CASE]... [options]       (with the Python module of the source tree)
    python3 results/planners/study.py [CASE]... [options]    (with an installed one)
"""
import argparse
import json
import math
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import study_tools as tools

FOLDER = tools.RESULTS / "planners"
TIME_SHARE = 0.1  # of theirs
PRINTED_DIGITS = 0.0005  # a number printed with three decimals
SIMULATIONS = 8000  # of one search
KEYS = {"id", "source", "command", "baseline", "published_ms", "their_seconds", "note"}
NAMES = {"-m": "microbatches"}


def request_of(command):
    """What `plan --method NAME ...` asks, with files below results/ wherever this runs."""
    words = command.split()
    request = {"ask": "planner", "opt": [], "want": ["plan"]}
    for option, value in zip(words[1::2], words[2::2]):
        name = NAMES.get(option, option.lstrip("-"))
        if value.startswith("results/"):
            value = str(tools.RESULTS.parent / value)
        if name == "opt":
            request["opt"].append(value)
        else:
            request[name] = value
    return request


def plan(command):
    """The planner's answer, and its seconds of processor time, with reading the profile; planners run on one thread, and
    other work does not count."""
    import plumbline

    request = request_of(command)
    start = time.process_time()
    answer = plumbline.ask(request)["plan"]
    return answer, time.process_time() - start


class Result:
    """A case and what came of it."""

    def __init__(self, case):
        self.case = case
        answer, self.seconds = plan(case["command"])
        self.ours_ms, self.states = answer["claimed_ns"] / 1e6, answer["states"]
        self.proved = answer["lower_bound_ns"] >= answer["claimed_ns"] * (1 - 1e-12)
        self.baseline_ms = plan(case["baseline"])[0]["claimed_ns"] / 1e6 if "baseline" in case else None

    @property
    def holds(self):
        """Ours is at most theirs and took at most a tenth of their time."""
        case = self.case
        if "published_ms" in case and self.ours_ms > case["published_ms"] + PRINTED_DIGITS:
            return False
        if self.baseline_ms is not None and self.ours_ms > self.baseline_ms * (1 + 1e-9):
            return False
        return "their_seconds" not in case or self.seconds <= TIME_SHARE * case["their_seconds"]

    def cells(self):
        theirs = self.case.get("published_ms", self.baseline_ms)
        seconds = self.case.get("their_seconds")
        return [self.case["id"], "-" if theirs is None else tools.fixed(theirs, 3),
                tools.fixed(self.ours_ms, 3) + ("" if self.proved else " *"), str(self.states),
                "-" if seconds is None else tools.fixed(seconds, 1), tools.fixed(self.seconds, 3),
                "-" if seconds is None else tools.number_text(seconds / max(self.seconds, 1e-6), 3),
                "yes" if self.holds else "no"]

    def document(self):
        case = self.case
        row = {"id": case["id"], "command": case["command"], "ours_ms": self.ours_ms,
               "published_ms": case.get("published_ms"), "baseline_ms": self.baseline_ms,
               "their_seconds": case.get("their_seconds"), "seconds": self.seconds, "states": self.states,
               "proved": self.proved, "holds": self.holds}
        return {key: value for key, value in row.items() if value is not None}


RIGHT = [False, True, True, True, True, True, True, False]


def results_page(results):
    head = ["plan", "theirs, ms", "ours, ms", "cut points", "their time, s", "our time, s", "faster by", "holds"]
    text = tools.markdown(head, [result.cells() for result in results], RIGHT) + "\n"
    for result in results:
        case = result.case
        text += (f"* `{case['id']}`: {case['source']}. `./plumbline {case['command']}`" +
                 (f". {case['note']}" if "note" in case else "") + "\n")
    return text


def read_cases(path):
    cases = json.loads(path.read_text())
    for case in cases:
        unknown = sorted(set(case) - KEYS)
        if unknown:
            raise tools.WrongInput(f"{path}: case '{case.get('id')}': unknown key '{unknown[0]}', expected one of "
                                   f"{', '.join(sorted(KEYS))}")
    return cases


def run_cases(args):
    cases = read_cases(FOLDER / "cases.json")
    for name in args.case:
        tools.known(name, [case["id"] for case in cases], "case")
    results = []
    for case in cases:
        if not args.case or case["id"] in args.case:
            results.append(Result(case))
            tools.progress(f"reproduce planners: {case['id']}")
    if not args.case:
        page = FOLDER / "README.md"
        page.write_text(tools.between_marks(page.read_text(), results_page(results)))
    document = json.dumps([result.document() for result in results], indent=2) + "\n"
    if args.json == "-":
        print(document, end="")
    elif args.json:
        pathlib.Path(args.json).write_text(document)
    if args.json != "-":
        head = ["plan", "published ms", "ours ms", "states", "published s", "our s", "faster", "holds"]
        print(tools.columns(head, [result.cells() for result in results], RIGHT), end="")
    return all(result.holds for result in results)


class Scores:
    """The simulated steps of all plans for a profile on a cluster."""

    def __init__(self, profile):
        import plumbline

        self.network = profile["network"]
        path = tools.RESULTS / self.network
        found = plumbline.plan(str(path) if path.exists() else self.network, profile["cluster"], profile["microbatches"],
                               all=True, planners="all", simulations=SIMULATIONS, time_limit=1e6)
        document = found.document
        self.theirs = document.get("planners_ns", {})
        self.ours = document["best"][0]["step_time_ns"] if found else 0
        self.layers = sum(map(int, document["best"][0]["partition"].split(","))) if found else 0
        self.gap = document["gap"]
        self.plan = found.text.split("\n")[0].split(None, 1)[1] if found else ""

    @property
    def holds(self):
        """No published planner's plan is faster than ours."""
        return all(step == 0 or 0 < self.ours <= step for step in self.theirs.values())

    def cells(self):
        name = self.network
        for end in ("/graph.txt", ".txt", ".json"):
            if name.endswith(end):
                name = name[:-len(end)]
                break
        known = [(step, method) for method, step in sorted(self.theirs.items()) if step]
        step, method = min(known, key=lambda each: each[0], default=(0, "-"))
        ms = lambda ns: "-" if ns == 0 else tools.fixed(ns / 1e6, 3)
        return [f"`{name.removeprefix('planners/inputs/')}`", str(self.layers), ms(self.ours),
                tools.percent_text(self.gap), self.plan, method, ms(step), "yes" if self.holds else "no"]


def method_cells(method, scores):
    ratios = [each.theirs[method] / each.ours for each in scores if each.theirs.get(method) and each.ours]
    if not ratios:
        return [method, "0", "", "", "", ""]
    equal = sum(each.theirs.get(method) == each.ours for each in scores if each.ours)
    mean = math.exp(tools.total(map(math.log, ratios)) / len(ratios))
    return [method, str(len(ratios)), str(equal), *[tools.fixed(each, 3) for each in (min(ratios), mean, max([1.0, *ratios]))]]


def scores_page(scores):
    import plumbline

    methods = [planner["name"] for planner in plumbline.ask({"ask": "planners"})["planners"]]
    return (tools.markdown(["profile", "layers", "our step, ms", "gap at most", "our plan", "best of theirs",
                            "its step, ms", "holds"], [each.cells() for each in scores],
                           [False, True, True, True, False, False, True, False]) + "\n" +
            tools.markdown(["method", "profiles", "as fast as ours", "its step / ours: least", "geometric mean", "most"],
                           [method_cells(method, scores) for method in methods], [False] + [True] * 5))


def run_scores(parts):
    """All profiles, or those whose path has one of `parts` in it. Refreshes the page when all were asked for."""
    profiles = json.loads((FOLDER / "scored.json").read_text())
    chosen = [profile for profile in profiles if not parts or any(part in profile["network"] for part in parts)]
    if not chosen:
        raise tools.WrongInput(f"reproduce planners --scores: no profile has this name, see {FOLDER / 'scored.json'}")
    scores = []
    for profile in chosen:
        scores.append(Scores(profile))
        tools.progress(f"reproduce planners: {len(scores)}/{len(chosen)} {profile['network']}")
    text = scores_page(scores)
    if not parts:
        page = FOLDER / "scores.md"
        page.write_text(tools.between_marks(page.read_text(), text))
    print(text, end="")
    return all(each.holds for each in scores)


def main():
    parser = argparse.ArgumentParser(prog="plumbline reproduce planners", description=__doc__.split("\n\n")[0])
    parser.add_argument("case", nargs="*", metavar="CASE")
    parser.add_argument("--json", metavar="FILE", help="write all results as JSON (- is standard output)")
    parser.add_argument("--scores", action="store_true",
                        help="instead: simulate every planner's plan for the profiles of scored.json and compare it with "
                             "the plan of `plumbline plan`")
    args = parser.parse_args()
    return 0 if (run_scores(args.case) if args.scores else run_cases(args)) else 3


if __name__ == "__main__":
    tools.run(main)
