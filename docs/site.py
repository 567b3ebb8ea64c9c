#!/usr/bin/env python3
"""Builds the documentation as a web site: all documents of the tree, with the pictures and files that they link to.

    docs/site.py OUT        writes the site into the folder OUT, which is made anew

The documents stay where they are, beside what they describe. This script copies those that git knows into a folder of its
own, in the same places, and lets mkdocs (package `mkdocs`) build that with --strict: a link that leads nowhere is an error.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")

NAVIGATION = [
    {"Start": "docs/index.md"},
    {"Tutorial": "docs/tutorial.md"},
    {"How to": [
        {"I want to install it": "docs/how-to/install.md"},
        {"I have a launch script": "docs/how-to/launch-script.md"},
        {"I have traces": "docs/how-to/traces.md"},
        {"I have a new schedule": "docs/how-to/new-schedule.md"},
        {"I write a paper": "docs/how-to/paper.md"},
        {"I teach a course": "docs/how-to/course.md"},
        {"I want to add something": "docs/how-to/contribute.md"},
    ]},
    {"Concepts": [
        {"Which schedule?": "docs/concepts/schedules.md"},
        {"Bubbles": "docs/concepts/bubbles.md"},
        {"Memory": "docs/concepts/memory.md"},
        {"Accuracy": "docs/concepts/accuracy.md"},
    ]},
    {"Reference": [
        {"Commands": "tools/commands/README.md"},
        {"Schedules": "schedules/pages/README.md"},
        {"Schedule documents": "schedules/document/FORMAT.md"},
        {"Schedules as rules": "schedules/phases/RULES.md"},
        {"Clusters": "models/cluster/CLUSTER_DOCUMENT.md"},
        {"Networks": "models/network/NETWORK_DOCUMENT.md"},
        {"Launch files": "models/launches/LAUNCHES.md"},
        {"Specification of the simulator": "sim/SPECIFICATION.md"},
        {"Python": "tools/python/README.md"},
        {"Glossary": "GLOSSARY.md"},
    ]},
    {"Results": "results/README.md"},
]


def documents():
    """Paths of all documents of the tree. Those of tests and folders that only developers read belong to it, since
    others link to them."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            capture_output=True, text=True, check=True)
    return [pathlib.Path(line) for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def copy(path, to):
    target = to / path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / path, target)


def linked(document):
    """Files other than documents that a document links to, relative to the root."""
    for target in LINK.findall((ROOT / document).read_text()):
        if "://" in target or target.startswith("mailto:"):
            continue
        path = (ROOT / document).parent.joinpath(target).resolve()
        if path.is_file() and path.suffix != ".md" and path.is_relative_to(ROOT):
            yield path.relative_to(ROOT)


def stage(to):
    """Copies documents and what they link to. The page of the index is also the first one of the site."""
    for document in documents():
        copy(document, to)
        for path in linked(document):
            copy(path, to)
    (to / "README.md").unlink(missing_ok=True)
    front = (ROOT / "docs/index.md").read_text()
    moved = re.sub(r"\]\((?!\.\./|\w+://)", "](docs/", front).replace("](../", "](")
    (to / "index.md").write_text(moved)


def main(out):
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "source"
        stage(source)
        settings = {"site_name": "Plumbline", "docs_dir": str(source), "site_dir": str(pathlib.Path(out).resolve()),
                    "nav": [{"Start": "index.md"}] + NAVIGATION[1:], "theme": {"name": "mkdocs"},
                    "plugins": ["search"], "use_directory_urls": False}
        config = pathlib.Path(scratch) / "mkdocs.yml"
        config.write_text(json.dumps(settings))
        done = subprocess.run(["mkdocs", "build", "--strict", "--config-file", str(config)], capture_output=True, text=True,
                              check=False)
        for line in (done.stdout + done.stderr).splitlines():
            if not line.startswith(("INFO", "  - ")):
                print(line, file=sys.stderr)
        return done.returncode


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
