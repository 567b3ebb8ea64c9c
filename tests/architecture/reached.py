#!/usr/bin/env python3
"""Says what a change since COMMIT can reach.

    reached.py targets COMMIT BUILD TARGET...   those of the targets that depend on a file that differs
    reached.py readers COMMIT                   fuzz targets whose own source or corpus differs, or the reader that they include

BUILD is a folder that ninja has built: sources and generated files of a target come from its graph, headers from what the
compiler wrote down. Data that tests read when they run belongs to the target of its folder (tests/sim/... to sim_test), and
what tells how to build belongs to all. Where COMMIT is not in the history, everything is reached.
"""
import glob
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
HOW_TO_BUILD = re.compile(r"(^|/)CMakeLists\.txt$|^CMakePresets\.json$|\.cmake$|^\.ci/")


def output(*words):
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    return run.stdout.splitlines() if run.returncode == 0 else None


def changed_since(commit):
    committed = output("git", "diff", "--name-only", commit)
    return None if committed is None else set(committed) | set(output("git", "ls-files", "--others", "--exclude-standard"))


def headers_of_objects(build):
    """What the compiler read for each object, as ninja stored it."""
    found, current = {}, None
    for line in output("ninja", "-C", build, "-t", "deps") or []:
        if line.startswith("    "):
            found[current].append(line.strip())
        elif ": #deps" in line:
            current = line.split(": #deps")[0]
            found[current] = []
    return found


def files_of(build, target, headers):
    """All files of the repository that a target is made of, relative to its root."""
    inputs = output("ninja", "-C", build, "-t", "inputs", target)
    if inputs is None:
        sys.exit(f"reached.py: {build} has no target {target}; expected one that was built there")
    files = set()
    for one in inputs:
        for path in (one, *headers.get(one, ())):
            files.add(os.path.relpath(os.path.join(build, path)))
    return files


def is_reached(changed, target, files):
    folder = f"tests/{target.removesuffix('_test')}/"
    return any(path in files or path.startswith(folder) or HOW_TO_BUILD.search(path) for path in changed)


def targets(changed, build, *names):
    headers = headers_of_objects(build)
    return [name for name in names if changed is None or is_reached(changed, name, files_of(build, name, headers))]


def readers(changed):
    found = []
    for source in sorted(glob.glob("tests/fuzz/*_fuzz.cpp")):
        name = os.path.basename(source).removesuffix("_fuzz.cpp")
        own = {source}
        for header in INCLUDE.findall(open(source, encoding="utf-8").read()):
            own |= {header, header.removesuffix(".hpp") + ".cpp"}
        if changed is None or own & changed or any(path.startswith(f"tests/fuzz/corpus/{name}/") for path in changed):
            found.append(name)
    return found


def main(how, commit, *arguments):
    for name in {"targets": targets, "readers": readers}[how](changed_since(commit), *arguments):
        print(name)


if len(sys.argv) < 3 or sys.argv[1] not in ("targets", "readers"):
    sys.exit("expected targets or readers, a commit, and what to choose from; see the head of " + __file__)
main(*sys.argv[1:])
