#!/usr/bin/env python3
"""Checks that every section of sim/SPECIFICATION.md that a source or test quotes, as in "§6.4", is there.

    tests/architecture/sections.py [ROOT]

Quotes are looked for in all *.hpp, *.cpp and *.py that git tracks (or, outside a checkout, all below ROOT), and in the
page itself. Sections begin with "## 6." or "**§6.4". Prints every quote of a missing section as "file:line: §N", and every
section with a number of two parts that no test case names ("§6.4: ..." in its title); exits with 1 when there is one.
"""
import os
import re
import subprocess
import sys

PAGE = "sim/SPECIFICATION.md"
QUOTE = re.compile(r"§(\d+(?:\.\d+)?)")
TITLE = re.compile(r'TEST_CASE\(\s*"§(\d+\.\d+):')


def sources(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "*.hpp", "*.cpp", "*.py"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return listed.stdout.split("\n")[:-1]
    return [os.path.relpath(os.path.join(folder, name), root)
            for folder, _, names in os.walk(root) for name in names if name.endswith((".hpp", ".cpp", ".py"))]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    page = open(os.path.join(root, PAGE)).read()
    known = set(re.findall(r"^## (\d+)\.", page, re.M)) | set(re.findall(r"\*\*§(\d+\.\d+)", page))
    missing = 0
    tested = set()
    for path in [PAGE] + [p for p in sources(root) if os.path.basename(p) != "sections.py"]:
        full = os.path.join(root, path)
        if not os.path.exists(full):
            continue  # removed, but not yet committed
        text = open(full, errors="replace").read()
        tested.update(TITLE.findall(text))
        for number, line in enumerate(text.split("\n"), 1):
            for section in QUOTE.findall(line):
                if section not in known:
                    missing += 1
                    print(f"{path}:{number}: §{section} is not in {PAGE}")
    untested = sorted((s for s in known if "." in s and s not in tested), key=lambda s: [int(n) for n in s.split(".")])
    for section in untested:
        print(f"{PAGE}: no test case names §{section} in its title, as in \"§{section}: ...\"")
    return 1 if missing or untested else 0


if __name__ == "__main__":
    sys.exit(main())
