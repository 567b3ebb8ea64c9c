#!/usr/bin/env python3
"""Writes what documents show of the program anew: the output of every `$ command` in their ```console blocks, help
texts among them. A test holds the documents against the program; this is how they follow a change of it.

    tools/write_pages.py PROGRAM [DOCUMENT...]      without documents: all of them

PROGRAM is build/release/tools/plumbline. Shown lines around `...` are kept as they are: where the program no longer
prints them, the place is named and the exit status is 1, since only a writer knows which lines matter there.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HALLS = ("docs", "models", "schedules", "sim", "trainer", "tools", "results")
SEEN_BY_COMMANDS = HALLS + ("tests",)


def documents():
    """Every document with commands, in the order in which the test runs them: later ones may read earlier files."""
    found = [name for name in os.listdir(ROOT) if name.endswith(".md")]
    for hall in HALLS:
        for folder, _, names in os.walk(os.path.join(ROOT, hall)):
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
    return sorted(found)


def run(command, program, folder):
    """Lines on standard output; raises where the command fails."""
    environment = dict(os.environ, PATH=f"{os.path.dirname(program)}:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def shows(shown, printed):
    """The shown lines are there in order; a shown `...` stands for any number of lines."""
    at, skipping = 0, False
    for line in shown:
        if line == "...":
            skipping = True
            continue
        while skipping and at < len(printed) and printed[at] != line:
            at += 1
        if at == len(printed) or printed[at] != line:
            return False
        at, skipping = at + 1, False
    return skipping or at == len(printed)


def rewritten(text, answer, complain):
    """The document with the output of its commands: `answer(command)` has it, `complain(line, why)` is told the rest."""
    lines, result, at, inside = text.split("\n"), [], 0, False
    while at < len(lines):
        line = lines[at]
        at += 1
        result.append(line)
        if line.startswith("```"):
            inside = not inside and line == "```console"
        if not (inside and line.startswith("$ ")):
            continue
        command_line, shown = at, []
        while at < len(lines) and not lines[at].startswith(("$ ", "```")):
            shown.append(lines[at])
            at += 1
        try:
            printed = answer(line[2:])
        except RuntimeError as error:
            complain(command_line, str(error))
            printed = shown
        if "..." in shown and not shows(shown, printed):
            complain(command_line, "the lines beside `...` are not printed any more; write them by hand")
        result += printed if shown and "..." not in shown else shown
    return "\n".join(result)


def main(program, *asked):
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for name in SEEN_BY_COMMANDS:
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        program = os.path.abspath(program)
        os.symlink(program, os.path.join(folder, "plumbline"))
        for document in sorted(os.path.relpath(name, ROOT) for name in asked) if asked else documents():
            path = os.path.join(ROOT, document)
            with open(path, encoding="utf-8") as file:
                before = file.read()
            after = rewritten(before, lambda command: run(command, program, folder),
                              lambda line, why, document=document: faults.append(f"{document}:{line}: {why}"))
            if after != before:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(after)
                print(f"{document}: written anew")
    print(*faults, sep="\n", file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
