"""Where a source can be changed by about one character, so that it still means something else."""
import itertools
import os
import random
import re

from places import top_level

# Comments, texts, characters, lines of the preprocessor: blanked, the quotes of texts stay.
QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|^[ ]*#[^\n]*',
                   re.S | re.M)
SWAPS = {"<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
         "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"], "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="],
         "min": ["max"], "max": ["min"], "true": ["false"], "false": ["true"], "0": ["1"], "1": ["0", "2"]}
# The format of the sources has spaces around binary operators, and none behind unary ones or in templates.
TOKEN = re.compile(r"(?<=\s)(?:[<>=!]=|&&|\|\||[-+*/]=?|[<>%])(?=\s)|\b(?:true|false)\b|\b(?:min|max)(?=\(|_element\b)|"
                   r"(?<![\w.'])\d+(?![\w.'])")


class Mutant:
    """One change: what stands at `begin` of the file becomes `new`."""

    def __init__(self, path, text, begin, old, new):
        self.path, self.begin, self.old, self.new = path, begin, old, new
        self.line = text.count("\n", 0, begin) + 1
        start = text.rfind("\n", 0, begin) + 1
        end = text.find("\n", begin)
        row = text[start:end]
        self.was = row.strip()
        self.became = (row[:begin - start] + new + row[begin - start + len(old):]).strip()
        self.key = "\n".join([path, self.was, self.became])
        self.room = "/".join(path.split("/")[:-1][:2])

    def apply(self, text):
        return text[:self.begin] + self.new + text[self.begin + len(self.old):]


def blanked(text):
    """The text, as long as it was, without what no mutant should change."""
    def blank(found):
        inner = re.sub(r"[^\n]", " ", found[0])
        return '"' + inner[1:-1] + '"' if found[0][0] in "\"'R" and len(found[0]) > 1 else inner
    text = QUIET.sub(blank, text)
    return re.sub(r"\bstatic_assert\(.*?\);|\btemplate <[^;{]*?>\n|\bassert\(.*?\);", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def mutants_of(path, text):
    """Every change of a source, in the order of its text."""
    code = blanked(text)
    for found in TOKEN.finditer(code):
        old = found[0]
        before, after = code[:found.start()].rstrip()[-1:], code[found.end():].lstrip()[:1]
        if old in ("+", "+=") and '"' in (before, after):
            continue  # texts are joined: a difference would not compile
        for new in SWAPS.get(old) or [str(int(old) + 1)]:
            yield Mutant(path, text, found.start(), old, new)


def sources(root, rooms):
    for room in rooms:
        full = os.path.join(root, room)
        found = [full] if os.path.isfile(full) else [os.path.join(folder, name) for folder, _, names in os.walk(full)
                                                     for name in names if name.endswith(".cpp")]
        yield from sorted(os.path.relpath(path, root) for path in found)


def draw(root, rooms, seed, known):
    """All mutants of the rooms' sources that are `known` to the build, in an order that the seed says."""
    found = []
    for path in sources(root, rooms):
        if known(path):
            found += mutants_of(path, open(os.path.join(root, path)).read())
    random.Random(seed).shuffle(found)
    return found


def balanced(drawn):
    """The same mutants, one of every room in turn, as long as the room has any."""
    of_room = {}
    for mutant in drawn:
        of_room.setdefault(mutant.room, []).append(mutant)
    turns = itertools.zip_longest(*(of_room[room] for room in sorted(of_room)))
    return [mutant for turn in turns for mutant in turn if mutant is not None]
