#!/usr/bin/env python3
"""Finds what g++ 12 compiles of std::ranges and clang 14 does not: the fuzzers, sanitizers and the simulator for the web
are built by clang, which otherwise is the last to say so, after half an hour.

    tests/architecture/ranges.py [ROOT]

To clang 14, std::ranges::view_interface of libstdc++ 12 is an error wherever it is instantiated: in every view, and in
std::ranges::subrange, which ten algorithms return, whether or not the result is used. std::views::counted gives a span
where its iterators are contiguous, and is allowed; so are the algorithms that return iterators (partition_point,
unique_copy, remove_copy_if, ...).

Looks at all *.hpp and *.cpp that git tracks (or, outside a checkout, all below ROOT), comments and texts left out. Prints
one line per finding, "file:line: what, instead: what to write", and exits with 1 when there is one.
"""
import os
import re
import sys

from local_names import SKIPPED  # comments, texts and characters
from sections import sources

ALGORITHMS = {
    "unique": "std::unique(begin, end)",
    "remove": "std::erase(container, value)",
    "remove_if": "std::erase_if(container, predicate)",
    "partition": "std::partition(begin, end, predicate)",
    "stable_partition": "std::stable_partition(begin, end, predicate)",
    "rotate": "std::rotate(begin, middle, end)",
    "search": "std::search(begin, end, part_begin, part_end)",
    "search_n": "std::search_n(begin, end, count, value)",
    "find_end": "std::find_end(begin, end, part_begin, part_end)",
    "equal_range": "std::equal_range(begin, end, value)",
    "subrange": "std::span, or two iterators",
}
VIEW = "a loop, or std::span with first, last and subspan"
REFUSED = re.compile(
    r"\b(?:std\s*::\s*)?(?:"
    r"ranges\s*::\s*(?P<algorithm>%s)\b|ranges\s*::\s*(?:\w+_view|view_interface)\b|"
    r"(?:ranges\s*::\s*)?views\s*::\s*(?!counted\b)\w+|(?<=::)(?:ranges\s*::\s*)?views\s*;)" % "|".join(ALGORITHMS))


def findings(text):
    """(line, what, what to write instead) of everything refused in a source."""
    text = SKIPPED.sub(lambda skipped: "\n" * skipped[0].count("\n"), text)
    for found in REFUSED.finditer(text):
        what = re.sub(r"\s", "", found[0]).rstrip(";")
        yield text.count("\n", 0, found.start()) + 1, what, ALGORITHMS.get(found["algorithm"], VIEW)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    refused = 0
    for path in sorted(path for path in sources(root) if path.endswith((".hpp", ".cpp"))):
        full = os.path.join(root, path)
        if not os.path.exists(full):
            continue  # removed, but not yet committed
        for line, what, instead in findings(open(full, errors="replace").read()):
            refused += 1
            print(f"{path}:{line}: clang 14 cannot compile {what}, instead: {instead}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
