#!/usr/bin/env python3
"""Checks that every section of sim/SPECIFICATION.md that a source or test quotes, as in "§6.4", is there.

    tests/architecture/sections.py [ROOT]

Quotes are looked for in all *.hpp, *.cpp and *.py that git tracks (or, outside a checkout, all below ROOT), and in the
page itself. Sections begin with "## 6." or "**§6.4". Prints every quote of a missing section as "file:line: §N"; exits
with 1 when there is one, or when nothing quotes the page.
"""
import os
import re
import subprocess
import sys

PAGE = "sim/SPECIFICATION.md"
QUOTE = re.compile(r"§(\d+(?:\.\d+)?)")


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
    quotes = missing = 0
    for path in [PAGE] + [p for p in sources(root) if os.path.basename(p) != "sections.py"]:
        full = os.path.join(root, path)
        if not os.path.exists(full):
            continue  # removed, but not yet committed
        for number, line in enumerate(open(full, errors="replace"), 1):
            for section in QUOTE.findall(line):
                quotes += path != PAGE
                if section not in known:
                    missing += 1
                    print(f"{path}:{number}: §{section} is not in {PAGE}")
    if not quotes:
        print(f"nothing quotes {PAGE}")
    return 1 if missing or not quotes else 0


if __name__ == "__main__":
    sys.exit(main())
