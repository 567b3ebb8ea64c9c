#!/usr/bin/env python3
"""Checks that every relative link of the documents leads to a file, and every `#anchor` to a heading.

    tests/architecture/links.py [ROOT]

Documents are all *.md that git tracks (or, outside a checkout, all below ROOT). Prints every broken link as
"file:line: link"; exits with 1 when there is one.
"""
import os
import re
import subprocess
import sys

FORGE = "../../releases/"  # a page of the forge that shows the README, above its files
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def documents(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "*.md"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return listed.stdout.split("\n")[:-1]
    return [os.path.relpath(os.path.join(folder, name), root)
            for folder, _, names in os.walk(root) for name in names if name.endswith(".md")]


def lines_outside_code(path):
    fenced = False
    for number, line in enumerate(open(path, errors="replace"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(path):
    """The anchors that GitHub gives the headings of a document."""
    found = set()
    for _, line in lines_outside_code(path):
        if match := re.match(r"#+ +(.*)", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    return found


def broken(root, document):
    for number, line in lines_outside_code(os.path.join(root, document)):
        for link in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", link) or link.startswith(FORGE):
                continue
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(root, os.path.dirname(document), path)) if path else os.path.join(root, document)
            if not os.path.exists(target) or (anchor and target.endswith(".md") and anchor not in anchors(target)):
                yield f"{document}:{number}: {link}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    files = [document for document in documents(root) if os.path.exists(os.path.join(root, document))]
    findings = [finding for document in files for finding in broken(root, document)]
    for finding in findings:
        print(finding)
    print(f"{len(findings)} broken links" if findings else f"the links of {len(files)} documents lead somewhere")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
