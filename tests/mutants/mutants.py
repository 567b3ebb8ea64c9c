#!/usr/bin/env python3
"""Puts small mistakes into the sources, one at a time, and says which of them the tests notice (README.md).

    tests/mutants/mutants.py --seed 7 --count 60                       60 mutants of models, schedules and sim
    tests/mutants/mutants.py --seed 7 --count 20 --room models/jobs    of one room, or of one source
    tests/mutants/mutants.py --listed results/hardening/mutants.md     those that a page lists as survivors

The build (--build, a release build with PLUMB_TESTS) is brought up to date; what is made lies in its neighbour `mutants`.
A run that was stopped goes on where it stood: a mutant whose result is in the result file is not tried again. Exit status 1
when fewer than --least percent of the mutants that can be noticed are.
"""
import argparse
import concurrent.futures
import json
import os
import re
import sys
import threading
import time

import coverage
from builds import Builds
from places import top_level
from sites import balanced, blanked, draw, mutants_of, sources
from trials import Trial

HALLS = ["models", "schedules", "sim", "trainer", "tools"]
SURVIVOR = re.compile(r"^(\S+):\d+ \((?:survived|not run)\)\n  - (.*)\n  \+ (.*)$", re.M)  # as `survivors` writes them
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


class Equivalents:
    """Mutants that change nothing that can be seen, with the reason.

    A block is a source, "- was", "+ became" and lines of reason; or "*", "~ a pattern" and lines of reason, for every line
    that is as the pattern says where a number changed and nothing else.
    """

    def __init__(self, text, where="equivalents.txt"):
        self.exact, self.patterns, block = {}, [], []
        for line in text.split("\n") + [""]:
            if line.startswith("#"):
                continue
            if line.strip():
                block.append(line.strip())
            elif block:
                if block[0] == "*" and len(block) > 2 and block[1].startswith("~ "):
                    self.patterns.append((re.compile(block[1][2:]), " ".join(block[2:])))
                elif len(block) > 3 and block[1].startswith("- ") and block[2].startswith("+ "):
                    self.exact["\n".join([block[0], block[1][2:], block[2][2:]])] = " ".join(block[3:])
                else:
                    sys.exit(f"{where}: '{block[0]}': expected a source, '- was', '+ became' and a reason, or '*', '~ pattern' and one")
                block = []

    def __contains__(self, key):
        if key in self.exact:
            return True
        _, was, became = key.split("\n")
        numbers_only = re.sub(r"\d+", "0", was) == re.sub(r"\d+", "0", became)
        return numbers_only and any(pattern.fullmatch(was) for pattern, _ in self.patterns)

    def stale(self, root):
        """Rows whose source no longer has the line."""
        for key in self.exact:
            path, was, _ = key.split("\n")
            full = os.path.join(root, path)
            if not os.path.exists(full) or was not in [line.strip() for line in open(full)]:
                yield f"{path}: no line '{was}'"


def table(results, equivalents):
    """Per room: drawn, noticed by its own hall, by the halls above, equivalent, survivors."""
    rooms = {}
    for each in results:
        if each["verdict"] == "does not compile":
            continue
        row = rooms.setdefault(each["room"], [0, 0, 0, 0, 0])
        row[0] += 1
        if each["verdict"] == "noticed":
            row[2 if each["by"].split(":")[0] in HALLS and each["by"].split(":")[0] != each["room"].split("/")[0] else 1] += 1
        else:
            row[3 if each["key"] in equivalents else 4] += 1
    lines = ["| room | mutants | noticed by its hall | by halls above | equivalent | survive | noticed |", "|---|---|---|---|---|---|---|"]
    total = [sum(column) for column in zip(*rooms.values())] or [0] * 5
    for room, row in sorted(rooms.items()) + [("all", total)]:
        asked = row[0] - row[3]
        share = f"{100 * (row[1] + row[2]) / asked:.0f} %" if asked else "-"
        lines.append(f"| {room} | {' | '.join(map(str, row))} | {share} |")
    asked = total[0] - total[3]
    return "\n".join(lines), 100 * (total[1] + total[2]) / asked if asked else 100


def survivors(results, equivalents):
    for each in results:
        if each["verdict"] in ("survived", "not run") and each["key"] not in equivalents:
            path, was, became = each["key"].split("\n")
            yield f"{path}:{each['line']} ({each['verdict']})\n  - {was}\n  + {became}"


def listed(root, rooms, text):
    """Mutants of the rooms' sources that a text lists as survivors; a line that is gone since is told."""
    for key in SURVIVOR.findall(text):
        if not key[0].startswith(tuple(rooms)):
            continue
        found = [mutant for mutant in mutants_of(key[0], open(os.path.join(root, key[0])).read()) if mutant.key == "\n".join(key)]
        yield from found[:1]
        if not found:
            print(f"{key[0]}: no line '{key[1]}' any more")


def arguments():
    parser = argparse.ArgumentParser(description="Which small mistakes in the sources the tests notice")
    parser.add_argument("--seed", type=int, default=1, help="which mutants are drawn")
    parser.add_argument("--count", type=int, default=60, help="how many that compile")
    parser.add_argument("--room", action="append", help="a hall, a room or a source to draw from (default: models, schedules, sim)")
    parser.add_argument("--balanced", action="store_true", help="as many of every room, however large it is")
    parser.add_argument("--halls", default="models,schedules,sim", help="halls whose tests are asked")
    parser.add_argument("--halls-above", action="store_true", help="ask the tests of the halls above, too")
    parser.add_argument("--time-limit", type=float, default=120,
                        help="seconds of test cases per mutant and hall, as they took when they were recorded")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", help="result file (default: in the folder of mutants, by seed)")
    parser.add_argument("--again", action="store_true", help="try survivors in the result file once more")
    parser.add_argument("--listed", help="a page: try the survivors that it lists, and draw none")
    parser.add_argument("--not-run", action="store_true", help="list lines with mutants that no test case runs, and try none")
    parser.add_argument("--unchanged", action="store_true", help="try sources as they are: nobody may notice")
    parser.add_argument("--least", type=float, default=0, help="percent that must be noticed")
    return parser.parse_args()


def read_results(path, again):
    results = {}
    if os.path.exists(path):
        for line in open(path):
            each = json.loads(line)
            results[each["key"]] = each
    return {key: each for key, each in results.items() if not (again and each["verdict"] in ("survived", "not run"))}


def lines_not_run(root, paths, records):
    """Lines with mutants that no case of the records runs, as "file:line: text"."""
    for path in paths:
        text = open(os.path.join(root, path)).read()
        code, told = blanked(text), set()
        for mutant in mutants_of(path, text):
            declaration = top_level(code, mutant.begin)
            if mutant.line not in told and not any(each.of_line(path, mutant.line, declaration) for each in records):
                told.add(mutant.line)
                yield f"{path}:{mutant.line}: {mutant.was}"


def unchanged(drawn):
    """One mutant per source, and in each what was there."""
    first = {}
    for mutant in drawn:
        first.setdefault(mutant.path, mutant)
    for mutant in first.values():
        mutant.new = mutant.old
        mutant.became = mutant.was
        mutant.key = "\n".join([mutant.path, mutant.was, mutant.was])
    return list(first.values())


def try_all(options, trial, drawn, results, out):
    """Tries mutants in the order in which they were drawn until `count` of them compile."""
    lock, queue, done = threading.Lock(), iter(enumerate(drawn)), []

    def work():
        while True:
            with lock:
                if sum(each["verdict"] != "does not compile" for each in done) + busy[0] >= options.count:
                    return
                number, mutant = next(queue, (None, None))
                if mutant is None:
                    return
                if mutant.key in results:
                    done.append(results[mutant.key])
                    continue
                busy[0] += 1
            begin = time.monotonic()
            verdict, by = trial.run(mutant, f"{options.seed}_{number}", options.halls_above)
            each = {"key": mutant.key, "room": mutant.room, "line": mutant.line, "verdict": verdict, "by": by,
                    "seconds": round(time.monotonic() - begin, 1)}
            with lock:
                busy[0] -= 1
                done.append(each)
                out.write(json.dumps(each) + "\n")
                out.flush()
                print(f"{len(done):4} {each['seconds']:6} s  {verdict:16} {mutant.path}:{mutant.line}: {mutant.old} -> {mutant.new}  {by[:60]}", flush=True)

    busy = [0]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(work) for _ in range(options.jobs)]:
            future.result()
    return done


def main():
    options = arguments()
    halls = [hall for hall in HALLS if hall in options.halls.split(",")]
    folder = os.path.join(os.path.dirname(os.path.abspath(options.build)), "mutants")
    equivalents = Equivalents(open(os.path.join(ROOT, "tests/mutants/equivalents.txt")).read())
    for row in equivalents.stale(ROOT):
        print(f"equivalents.txt: {row}")
    builds = Builds(ROOT, os.path.abspath(options.build), folder)
    builds.prepare(halls, halls, options.jobs)
    libraries = {}
    records = {hall: coverage.record(builds, hall, libraries, print) for hall in halls}
    rooms, known = options.room or halls, builds.command_of.__contains__
    if options.not_run:
        print("\n".join(lines_not_run(ROOT, filter(known, sources(ROOT, rooms)), records.values())))
        return 0
    drawn = draw(ROOT, rooms, options.seed, known)
    if options.balanced:
        drawn = balanced(drawn)
    if options.listed:
        drawn = list(listed(ROOT, rooms, open(options.listed).read()))
        options.count, options.again, options.seed = len(drawn), True, "listed"
    if options.unchanged:
        drawn = unchanged(drawn)
    path = options.results or os.path.join(folder, f"results_{options.seed}.jsonl")
    results = read_results(path, options.again)
    os.makedirs(os.path.join(folder, "tried"), exist_ok=True)
    with open(path, "a") as out:
        done = try_all(options, Trial(builds, records, halls, options.time_limit), drawn, results, out)
    if options.unchanged:
        return any(each["verdict"] == "noticed" for each in done)
    text, percent = table(done, equivalents)
    print("\n".join([text, "", *survivors(done, equivalents)]))
    return percent < options.least


if __name__ == "__main__":
    sys.exit(main())
