#!/usr/bin/env python3
"""Counts private words, long sentences and long lines in what users read, by folder; no count may rise.

    tests/architecture/prose.py                compares with the counts in prose.txt; a higher one is an error
    tests/architecture/prose.py list FOLDER    prints every finding of a folder as "file:line: finding"
    tests/architecture/prose.py write          writes the counts of today, for whoever lowered some

What users read: documents (*.md) outside of code blocks, and the texts in the sources of tools/. Documents that a
program writes and the changelog are left out. A sentence is too long above 25 words, a line above 160 columns (tables
may be as wide as they must).
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = pathlib.Path(__file__).with_name("prose.txt")
KINDS = ("words", "sentences", "lines")
WRITTEN = ("CHANGELOG.md", "results/claims/", "schedules/pages/", "tests/")  # by programs, or not for users
LONGEST_SENTENCE, LONGEST_LINE = 25, 160

# Private words and patterns, each with what a reader expects instead.
PRIVATE = (
    (r"\bbeside\b", "next to, in addition to"),
    (r"\bunlike\b", "different, mixed, heterogeneous"),
    (r"\bheld against\b|\bholds? (?:\w+ )?against\b", "compared with, checked against"),
    (r"\bst(?:ands?|ood) (?:on|behind|beside)\b", "based on"),
    (r"\btells?\b|\btold\b", "reports, prints, says"),
    (r"\b(?:so|as) many\b", "N, that many, the number of"),
    (r"\bthousand million\b", "billion"),
    (r"\bany more\b|\bat hand\b|\bnot be had\b|\buntil this was\b", "the present state only"),
    (r"\bthose of\b|\bthat of\b", "the noun"),
    (r"\b(?:another|the|an older|a new|an own) ones?\b|\bones\b", "the noun"),
    (r"\bspared?\b|\bsparing\b", "saved, freed"),
    (r"\bplays? (?:it|one|a job)\b", "simulates"),
)
HEADLESS = re.compile(r"^(?:of|that|those|to|beside|as|so) (?:the|a|an|every|each|which|many|all)\b", re.I)
WHAT = re.compile(r"^(?:What|That of|Those of|Of) \S+ \S+ \S")
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9`*(\[])")


def tracked():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        print("skipped: not a checkout")
        sys.exit(77)
    return [path for path in listed.stdout.split("\n") if path and not path.startswith(WRITTEN) and (ROOT / path).exists()]


def plain(text):
    """Without pictures, addresses of links, and code, each piece of which counts as a word."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`[^`]*`", "X", text).replace("**", "")


def paragraphs(lines):
    """Of a document outside of code: (line, text) of every paragraph, item of a list, and cell of a table."""
    fenced, start, parts = False, 0, []
    for number, line in enumerate(lines + [""], 1):
        bare = line.strip()
        code = bare.startswith("```")
        if code:
            fenced = not fenced
        breaks = code or fenced or not bare or bare[0] in "#|" or re.match(r"(?:[*-]|\d+\.) ", bare)
        if breaks and parts:
            yield start, " ".join(parts)
            parts = []
        if code or fenced or not bare:
            continue
        if bare[0] == "|":
            for cell in re.split(r"(?<!\\)\|", bare.strip("|")):
                yield number, cell.strip()
        elif bare[0] != "#":
            start = start if parts else number
            parts.append(bare)


def texts(path):
    """(line, text) of everything in a file that a user reads."""
    content = (ROOT / path).read_text(errors="replace")
    if path.endswith(".md"):
        yield from paragraphs(content.split("\n"))
        return
    for match in LITERALS.finditer(content):
        text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match[0])).replace("\\n", " ").replace('\\"', "'")
        if text.count(" ") >= 3:
            yield content.count("\n", 0, match.start()) + 1, text


def words_of(sentence, is_document):
    """The private words of a sentence, and whether it begins without a subject."""
    for pattern, better in PRIVATE:
        for match in re.finditer(pattern, sentence, re.I):
            yield f'"{match[0]}": {better}'
    if WHAT.match(sentence) and not sentence.endswith("?") if is_document else HEADLESS.match(sentence):
        yield f'begins with "{" ".join(sentence.split()[:3])}": a noun'


def findings(path):
    """(kind, line, finding) of a file."""
    is_document = path.endswith(".md")
    for line, text in texts(path):
        for sentence in SENTENCE_END.split(plain(text)):
            for finding in words_of(sentence, is_document):
                yield "words", line, finding
            length = len(re.findall(r"[^\s]*\w[^\s]*", sentence))
            if length > LONGEST_SENTENCE:
                yield "sentences", line, f'{length} words: "{sentence[:70]}..."'
    if is_document:
        fenced = False
        for number, line in enumerate((ROOT / path).read_text(errors="replace").split("\n"), 1):
            fenced ^= line.strip().startswith("```")
            if len(line) > LONGEST_LINE and not fenced and not line.startswith("|"):
                yield "lines", number, f"{len(line)} columns"


def folder_of(path):
    return path.split("/")[0] if "/" in path else "."


def read_by_users(path):
    return path.endswith(".md") or (path.startswith("tools/") and path.endswith((".cpp", ".hpp")))


def counted():
    """Of every folder the number of findings of each kind."""
    counts = collections.defaultdict(collections.Counter)
    for path in filter(read_by_users, tracked()):
        counts[folder_of(path)].update(kind for kind, _, _ in findings(path))
    return {folder: [counts[folder][kind] for kind in KINDS] for folder in sorted(counts)}


def allowed():
    rows = [line.split() for line in COUNTS.read_text().split("\n") if line and line[0] != "#"]
    return {row[0]: [int(cell) for cell in row[1:]] for row in rows}


def write(counts):
    head = "# Findings of prose.py by folder; none may rise. `tests/architecture/prose.py write` writes them anew.\n"
    rows = [f"{folder:<10}" + "".join(f"{count:>10}" for count in of) for folder, of in counts.items()]
    COUNTS.write_text(head + f"# {'folder':<8}" + "".join(f"{kind:>10}" for kind in KINDS) + "\n" + "\n".join(rows) + "\n")


def compare():
    counts, limits, risen = counted(), allowed(), False
    for folder, of in counts.items():
        for kind, count, limit in zip(KINDS, of, limits.get(folder, [0] * len(KINDS))):
            if count > limit:
                risen = True
                print(f"{folder}: {count} findings of {kind}, expected at most {limit}; "
                      f"`tests/architecture/prose.py list {folder}` prints them")
    totals = [sum(column) for column in zip(*counts.values())]
    print(", ".join(f"{total} {kind}" for total, kind in zip(totals, KINDS)))
    return 1 if risen else 0


def main(arguments):
    if arguments == ["write"]:
        write(counted())
    elif len(arguments) == 2 and arguments[0] == "list":
        for path in filter(read_by_users, tracked()):
            if arguments[1] in (folder_of(path), path):
                for kind, line, finding in findings(path):
                    print(f"{path}:{line}: {kind}: {finding}")
    elif not arguments:
        return compare()
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
