#!/usr/bin/env python3
"""Compiles as no build does, for what the units of a unity build hide. Syntax only: nothing is optimised or linked.

  compile.py alone            every source, and every header, by itself: each must include what it uses.
                              Only what changed since the last commit (or since $PLUMB_SINCE), what includes a changed
                              header directly, and a sixteenth of the rest, another one with every commit.
  compile.py alone all        everything
  compile.py together         all sources of a target as one unit, so that any grouping of them compiles; in the order
                              of the build or in reverse: a quarter of these units, another one with every commit
  compile.py together all     all targets in both orders
  compile.py units PRESET     the units of this preset, by its compiler, in which something changed since the last commit (or
                              since $PLUMB_SINCE), or which include a changed header directly
  compile.py units PRESET all all of them

They configure the preset of the same name, or the one that is named. With --commands FOLDER the compile_commands.json there is taken instead.
Estimated: 1,321 sources and headers, 1.3 s of processor time each in a sample of ten: 15 minutes for alone all on two
cores, 1 for a sixteenth. The five libraries together took 105 s one after the other; with all tests about 3 minutes.
"""
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor

SHARES = 16
TOGETHER_SHARES = 4
UNIT = re.compile(r"/unity_\d+_cxx\.cxx$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def git(*arguments):
    return subprocess.run(("git", *arguments), capture_output=True, text=True, check=False).stdout.split("\n")[:-1]


def configured(preset):
    subprocess.run(["cmake", "--preset", preset], check=True, stdout=subprocess.DEVNULL)
    return os.path.join("build", preset)


def generate(path, build):
    """Makes a source that the build generates, by its own command alone."""
    name = os.path.relpath(path, os.path.realpath(build))
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", name], check=True, capture_output=True, text=True)
    subprocess.run(commands.stdout.strip().split("\n")[-1], shell=True, check=True, cwd=build)


def commands_of(build):
    """What compiles each C++ source: (source, folder, arguments up to it). nvcc compiles every source alone anyway."""
    found = []
    for entry in json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8")):
        words = shlex.split(entry["command"])
        names = [os.path.basename(word) for word in words]
        words = words[names.index("ccache") + 1 if "ccache" in names else 0:]
        if os.path.basename(words[0]) == "nvcc":
            continue
        path = entry["file"]
        for needed in INCLUDE.findall(open(path, encoding="utf-8").read()) if UNIT.search(path) else [path]:
            if not os.path.exists(needed):
                generate(needed, build)
        at = words.index("-o")
        left_out = (words[at], words[at + 1], "-c", path)
        found.append((path, entry["directory"], [word for word in words if word not in left_out]))
    return found


def compile_all(commands, strict=("-Werror",)):
    """Compiles (name, path, folder, arguments) and shows what the compiler says; how many did not compile."""

    def one(command):
        name, path, folder, words = command
        run = subprocess.run([*words, "-fsyntax-only", *strict, path], cwd=folder, capture_output=True, text=True,
                             check=False)
        return name, run.returncode, run.stderr

    failed = []
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for name, status, said in workers.map(one, commands):
            if status != 0:
                failed.append(name)
                print(f"{name} does not compile:\n{said}", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(commands)} compiled, {len(failed)} failed; {used.ru_utime + used.ru_stime:.0f} s of processor time")
    return len(failed)


def including(path, build):
    """A source that includes nothing but the header at `path`."""
    source = os.path.join(os.path.realpath(build), "headers", path + ".cxx")
    os.makedirs(os.path.dirname(source), exist_ok=True)
    with open(source, "w", encoding="utf-8") as out:
        out.write(f'#include "{path}"\n')
    return source


def with_headers(commands, build):
    """Names all commands by the file in the repository that they compile, and adds one for every header that has none.
    It is compiled as a source of its folder is; where none is compiled here (CUDA), nor is the header."""
    root = os.getcwd()
    named, of_folder = [], {}
    for path, folder, words in commands:
        header = re.search(r"_verify_interface_header_sets/(.*)\.cxx$", path)
        name = header[1] if header else os.path.relpath(path, root)
        named.append((name, path, folder, words))
        if not header:
            of_folder.setdefault(os.path.dirname(name), (folder, words))
    known = {name for name, *_ in named}
    for path in git("ls-files", "*.hpp"):
        if path not in known and os.path.dirname(path) in of_folder:
            named.append((path, including(path, build), *of_folder[os.path.dirname(path)]))
    return named


def changed_files():
    since = os.environ.get("PLUMB_SINCE", "HEAD^")
    if not git("rev-parse", "--verify", "--quiet", since + "^{commit}"):
        if "PLUMB_SINCE" in os.environ:
            sys.exit(f"PLUMB_SINCE: no commit {since} here, so what changed is not known; expected one, or 'alone all'")
        print("no commit before this one is here (a shallow clone), so what changed is not known: only the share is compiled")
        since = "HEAD"
    changed = set(git("diff", "--name-only", since)) | set(git("ls-files", "--others", "--exclude-standard"))
    headers = {path for path in changed if path.endswith(".hpp")}
    for path in git("ls-files", "*.cpp", "*.hpp") if headers else ():
        if os.path.exists(path) and headers & set(INCLUDE.findall(open(path, encoding="utf-8").read())):
            changed.add(path)
    return changed


def commit_number():
    return int((git("rev-list", "--count", "HEAD") or ["0"])[0])


def alone(build, everything):
    commands = with_headers(commands_of(build), build)
    if not everything:
        changed, share = changed_files(), commit_number() % SHARES
        commands = [one for one in commands if one[0] in changed or zlib.crc32(one[0].encode()) % SHARES == share]
    return compile_all(commands)


def together(build, everything):
    commands = []
    for path, folder, words in commands_of(build):
        if not UNIT.search(path):
            continue
        target = re.search(r"CMakeFiles/(.*)\.dir/", path)[1]
        lines = open(path, encoding="utf-8").read().split("\n")
        backwards = path.replace("/unity_", "/backwards_")
        with open(backwards, "w", encoding="utf-8") as out:
            out.write("\n".join(line for line in reversed(lines) if INCLUDE.match(line)) + "\n")
        commands.append((target, path, folder, words))
        commands.append((f"{target} in reverse", backwards, folder, words))
    if not everything:
        share = commit_number() % TOGETHER_SHARES
        commands = [one for one in commands if zlib.crc32(one[0].encode()) % TOGETHER_SHARES == share]
    return compile_all(commands)


def units(build, everything):
    """Under the names that the build gives them: target and number. Warnings of these compilers refuse no build."""
    commands = []
    changed = set() if everything else {os.path.realpath(path) for path in changed_files()}
    for path, folder, words in commands_of(build):
        sources = INCLUDE.findall(open(path, encoding="utf-8").read()) if UNIT.search(path) else [path]
        if everything or changed & {os.path.realpath(source) for source in sources}:
            commands.append((os.path.relpath(path, build), path, folder, words))
    return compile_all(commands, strict=("-w",))


def main(arguments):
    how = {"alone": alone, "together": together, "units": units}.get(arguments[0] if arguments else "")
    given = arguments[arguments.index("--commands") + 1] if "--commands" in arguments else None
    if how is None:
        sys.exit("expected alone, together or units; see the head of " + __file__)
    if given is None:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    sys.exit(1 if how(given or configured(arguments[1 if how is units else 0]), "all" in arguments[1:]) else 0)


main(sys.argv[1:])
