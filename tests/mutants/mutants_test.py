#!/usr/bin/env python3
"""The mutants themselves: a tree of one source and three test cases, whose mutants are known to be noticed or not.

    mutants_test.py COMPILER INCLUDES      (INCLUDES: the folder with doctest/doctest.h, may be empty)
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import coverage  # noqa: E402
import mutants  # noqa: E402
from builds import Builds  # noqa: E402
from sites import balanced, mutants_of  # noqa: E402
from trials import Trial  # noqa: E402

SOURCE = """#include "models/room/sums.hpp"

namespace plumb {
namespace {

constexpr int kFirst = 5;  // 1 + 2 in a comment

static_assert(kFirst != 6);

int untested(int a) { return a + 3; }

}  // namespace

int least(int a, int b) { return a < b ? a : b; }

int sum(int n) {
  int total = kFirst;
  for (int k = 0; k < n; ++k) total += 7;
  return total;
}

int other(int a) { return a > 100 ? untested(a) : a; }

}  // namespace plumb
"""
TEST = """#include <doctest/doctest.h>
#include "models/room/sums.hpp"
TEST_CASE("the least of two, either way") { CHECK(plumb::least(1, 2) == 1); CHECK(plumb::least(2, 1) == 1); }
TEST_CASE("a sum adds seven") { CHECK(plumb::sum(2) == 19); CHECK(plumb::sum(3) == 26); }
TEST_CASE("a small number stays") { CHECK(plumb::other(4) == 4); }
"""
EXPECTED = {  # line and change -> verdict, by whom
    "= 5; -> = 6;": ("noticed", "static_assert"),
    "a + 3 -> a - 3": ("not run", ""),
    "a + 3 -> a + 4": ("not run", ""),
    "a < b -> a <= b": ("survived", ""),
    "k = 0 -> k = 1": ("noticed", "models: a sum adds seven"),
    "k < n -> k <= n": ("noticed", "models: a sum adds seven"),
    "+= 7 -> -= 7": ("noticed", "models: a sum adds seven"),
    "+= 7 -> += 8": ("noticed", "models: a sum adds seven"),
    "a > 100 -> a >= 100": ("survived", ""),
    "a > 100 -> a > 101": ("survived", ""),
}


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w") as file:
        file.write(text)


def make_tree(root, compiler, includes):
    """A tree with a build like that of CMake: a library that is position-independent, and a test program."""
    write(root, "models/room/sums.cpp", SOURCE)
    write(root, "models/room/sums.hpp", "#pragma once\nnamespace plumb {\nint least(int a, int b);\nint sum(int n);\nint other(int a);\n}\n")
    write(root, "tests/models/sums_test.cpp", TEST)
    write(root, "tests/main.cpp", "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include <doctest/doctest.h>\n")
    with open(os.path.join(HERE, "recorder.cpp")) as recorder:
        write(root, "tests/mutants/recorder.cpp", recorder.read())
    if includes:
        compiler += f" -isystem {includes}"
    objects = {"models/sums.cpp.o": "models/room/sums.cpp", "tests/main.cpp.o": "tests/main.cpp",
               "tests/test.cpp.o": "tests/models/sums_test.cpp"}
    rules = "rule run\n  command = $line\n"
    for name, source in objects.items():
        pic = "-fPIC " if name.startswith("models") else ""
        rules += (f"build {name}: run {root}/{source}\n"
                  f"  line = {compiler} -I{root} {pic}-std=c++20 -ffile-prefix-map={root}/= -O1 -o {name} -c {root}/{source}\n")
    rules += "build models/libplumb_models.a: run models/sums.cpp.o\n  line = : && ar qc models/libplumb_models.a models/sums.cpp.o && :\n"
    rules += ("build models_test: run tests/main.cpp.o tests/test.cpp.o models/libplumb_models.a\n"
              f"  line = : && {compiler} tests/main.cpp.o tests/test.cpp.o -o models_test models/libplumb_models.a && :\n")
    write(root, "build/release/build.ninja", rules)


def check(what, found, expected):
    if found != expected:
        sys.exit(f"mutants_test.py: {what}: {found}, expected {expected}")


def main():
    compiler, includes = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    if "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout:
        print("skipped: clang calls functions of a shared library directly, and no mutant takes their place")
        return 77
    with tempfile.TemporaryDirectory() as root:
        make_tree(root, compiler, includes)
        builds = Builds(root, os.path.join(root, "build/release"), os.path.join(root, "build/mutants"))
        builds.prepare(["models"], ["models"], 2)
        os.makedirs(os.path.join(root, "build/mutants/tried"), exist_ok=True)
        records = {"models": coverage.record(builds, "models", {}, lambda *said, **how: None)}
        trial = Trial(builds, records, ["models"], 60)
        drawn = list(mutants_of("models/room/sums.cpp", SOURCE))
        results = []
        for mutant in drawn:
            row = mutant.was
            names = [name for name in EXPECTED if name.split(" -> ")[0] in row and
                     row.replace(*name.split(" -> ")) == mutant.became]
            check(f"changes of the line '{row}' to '{mutant.became}'", len(names), 1)
            verdict, by = trial.run(mutant, "one", False)
            check(names[0], (verdict, by), EXPECTED[names[0]])
            results.append({"key": mutant.key, "room": mutant.room, "line": mutant.line, "verdict": verdict, "by": by})
        check("mutants", len(drawn), len(EXPECTED))
        same = next(mutant.key for mutant in drawn if mutant.became.endswith("a <= b ? a : b; }"))
        path, was, became = same.split("\n")
        rows = f"{path}\n- {was}\n+ {became}\nequal numbers are the same\n\n*\n~ int other.*\na limit\n\nx.cpp\n- gone\n+ come\nno reason\n"
        equivalents = mutants.Equivalents(rows)
        text, percent = mutants.table(results, equivalents)
        check("last row", text.split("\n")[-1], "| all | 10 | 5 | 0 | 2 | 3 | 62 % |")
        check("percent", percent, 62.5)
        check("survivors", len(list(mutants.survivors(results, equivalents))), 3)
        page = "a page\n\n```\n" + "\n".join(mutants.survivors(results, equivalents)) + "\n```\n"
        check("survivors of a page", [mutant.key for mutant in mutants.listed(root, ["models"], page)],
              [each["key"] for each in results if each["verdict"] != "noticed" and each["key"] not in equivalents])
        check("survivors of another room", list(mutants.listed(root, ["sim"], page)), [])
        rooms = [mutants.argparse.Namespace(room=room, number=number) for room, number in ["b0", "b1", "a2", "c3", "b4", "a5"]]
        check("mutants of every room in turn", [each.number for each in balanced(rooms)], list("203514"))
        check("a row whose line is gone", list(equivalents.stale(root)), ["x.cpp: no line 'gone'"])
    print("ten mutants are noticed or not, as they should be")


if __name__ == "__main__":
    sys.exit(main())
