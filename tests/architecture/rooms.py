#!/usr/bin/env python3
"""Holds the rooms of the house against their table.

    tests/architecture/rooms.py [ROOT]

Checks that every folder of sources has its line in rooms.txt and the other way round; that a room includes only itself
and the rooms its line names, and each of these, as far as its own hall goes (check.sh has the order of the halls); that no files include each other in a circle (a header together
with its source counts as one); that no folder holds more than 45 sources; and that every room has a README.md of at
most 40 lines that names each of its files; one row `*_rule.cpp` stands for all sources of that name without a header of their own. Prints every violation; exits with 1 when there is one.
"""
import collections
import fnmatch
import os
import re
import subprocess
import sys

HALLS = ("models", "schedules", "sim", "trainer", "tools")
MOST_FILES = 45
MOST_README_LINES = 40
SOURCE = re.compile(r"\.(cpp|hpp|cu|cuh)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def read_table(path):
    """The rooms that each room may include inside its own hall, by room."""
    table = {}
    for line in open(path):
        line = line.split("#")[0].strip()
        if not line:
            continue
        room, _, allowed = line.partition(":")
        hall = room.split("/")[0]
        table[room.strip()] = {hall if word == "." else f"{hall}/{word}" for word in allowed.split()}
    return table


def sources(root):
    """The sources of the halls, by path: a set of the project's files that each includes."""
    found = {}
    for hall in HALLS:
        for folder, _, names in os.walk(os.path.join(root, hall)):
            for name in names:
                if SOURCE.search(name):
                    path = os.path.relpath(os.path.join(folder, name), root)
                    found[path] = set(INCLUDE.findall(open(os.path.join(root, path), errors="replace").read()))
    return found


def check_table(table, files):
    rooms = {os.path.dirname(path) for path in files}
    for room in sorted(rooms - set(table)):
        yield f"{room}: has no line in tests/architecture/rooms.txt"
    for room in sorted(set(table) - rooms):
        yield f"tests/architecture/rooms.txt: {room} holds no sources"
    for room, allowed in sorted(table.items()):
        for other in sorted(allowed - set(table)):
            yield f"tests/architecture/rooms.txt: {room} may include {other}, which has no line"
    used = collections.defaultdict(set)
    for path, includes in sorted(files.items()):
        room = os.path.dirname(path)
        for include in sorted(includes):
            other = os.path.dirname(include)
            if other == room or other.split("/")[0] != room.split("/")[0] or include not in files:
                continue
            used[room].add(other)
            if other not in table.get(room, ()):
                yield f"{path}: includes {include}, but {room} may not include {other}"
    for room, allowed in sorted(table.items()):
        for other in sorted((allowed & set(table)) - used[room]):
            yield f"tests/architecture/rooms.txt: {room} may include {other}, but does not"


def check_sizes(root, files):
    for room, count in sorted(collections.Counter(os.path.dirname(path) for path in files).items()):
        if count > MOST_FILES:
            yield f"{room}: {count} sources directly in the folder, expected at most {MOST_FILES}"
        readme = os.path.join(root, room, "README.md")
        if not os.path.exists(readme):
            yield f"{room}: has no README.md"
            continue
        text = open(readme).read()
        if (lines := text.count("\n")) > MOST_README_LINES:
            yield f"{room}/README.md: {lines} lines, expected at most {MOST_README_LINES}"
        kinds = re.findall(r"`([\w*]*\*[\w*]*)\.cpp`", text)
        headers = {stem(path) for path in files if path.endswith((".hpp", ".cuh"))}
        for path in sorted({stem(path) for path in files if os.path.dirname(path) == room}):
            name = os.path.basename(path)
            if path not in headers and any(fnmatch.fnmatchcase(name, kind) for kind in kinds):
                continue
            if not re.search(rf"\b{re.escape(name)}\b", text):
                yield f"{room}/README.md: does not name {name}"


def stem(path):
    return os.path.splitext(path)[0]


def knots(files):
    """Groups of stems (a header with its source) that include each other in a circle: Tarjan's components."""
    edges = collections.defaultdict(set)
    for path, includes in files.items():
        edges[stem(path)] |= {stem(include) for include in includes if include in files} - {stem(path)}
    number, low, path, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        path.append(node)
        for other in sorted(edges[node]):
            if other not in number:
                visit(other)
            if other in path:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            knot = path[path.index(node):]
            del path[path.index(node):]
            if len(knot) > 1:
                found.append(sorted(knot))

    sys.setrecursionlimit(10000)
    for node in sorted({stem(file) for file in files}):
        if node not in number:
            visit(node)
    return found


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    files = sources(root)
    table = read_table(os.path.join(root, "tests", "architecture", "rooms.txt"))
    findings = [*check_table(table, files), *check_sizes(root, files)]
    findings += [f"files that include each other in a circle: {' '.join(knot)}" for knot in knots(files)]
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings" if findings else f"{len(table)} rooms of {len(files)} files keep to their table")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
