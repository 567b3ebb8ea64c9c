#!/usr/bin/env python3
"""Finds every pair of file-local names that could meet in one unity unit. Sources of a library are compiled several at
a time, in groups that shift when a file is added: a name in an unnamed namespace is then seen by its neighbours.

Sources of one hall (models, schedules, sim, trainer, tools, one folder of tests) may meet. Two of their file-local
names collide when both are
  * functions that a call could not tell apart, or tell apart in silence: callable with as many arguments, each of the
    same type or of two types that convert into each other (numbers; texts); or one is passed on by its name alone;
  * anything else, except the same alias of the same type.
A file-local name also collides with the same name in a header of this hall or of one below it, with a constant inside
a function of another source (-Wshadow), and a macro must be undefined in the source that defines it. A using-directive
for a whole namespace would hold for the neighbours, too.

Prints one line per finding, name: FILE:LINE, FILE:LINE, and fails when there is one.
  tests/architecture/local_names.py [ROOT]
"""
import itertools
import os
import re
import sys
from collections import defaultdict
from typing import NamedTuple

HALLS = ("models", "schedules", "sim", "trainer", "tools")  # a hall sees the headers of those before it
SKIPPED = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
                     re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|\.?\d(?:[\w.]|'\w)*|->|\S")
LOCAL_CONSTANT = re.compile(r"^[ \t]+const(?:expr)?\b[^=;{}()\n]*?\b(k[A-Z]\w*)\s*[={\[]", re.MULTILINE)
NUMBERS = re.compile(r"^(bool|char|short|int|long|unsigned|float|double|size_t|ptrdiff_t|u?int\d+_t|Ticks|.*Index)+$")
TEXTS = {"string", "string_view", "char*", "Json", "json"}
OPENING, CLOSING = "([{", ")]}"


class Name(NamedTuple):
    name: str
    kind: str  # function, type, alias, variable
    meaning: tuple  # of a function its parameters, of an alias its type
    scope: tuple
    local: bool
    file: str
    line: int


def tokens_of(text):
    """The tokens with their lines; comments, texts and directives left out."""
    blank = lambda found: '"' * (found[0][:1] in "R\"'") + "\n" * found[0].count("\n")
    text = DIRECTIVE.sub(lambda found: "\n" * found[0].count("\n"), SKIPPED.sub(blank, text))
    return [(found[0], line) for line, row in enumerate(text.split("\n"), 1) for found in TOKEN.finditer(row)]


def past_group(tokens, at):
    """Past the bracket that closes the one at `at`."""
    depth = 0
    while at < len(tokens):
        token = tokens[at][0]
        depth += (token in OPENING) - (token in CLOSING)
        at += 1
        if depth == 0:
            break
    return at


def past_angles(tokens, at):
    depth = 0
    while at < len(tokens):
        token = tokens[at][0]
        if token in OPENING:
            at = past_group(tokens, at)
            continue
        depth += (token == "<") - (token == ">")
        at += 1
        if depth == 0:
            break
    return at


def past_declaration(tokens, at):
    """Past the `;` or the body that ends the declaration at `at`."""
    begin, params, assigned, members = at, False, False, False
    while at < len(tokens):
        token = tokens[at][0]
        if token == ";":
            return at + 1
        if token == "}":
            return at
        if token == "=" and tokens[at - 1][0] != "operator":
            assigned = True
        if token == ":" and params:
            members = True
        if token == "(":
            params = True
        if token == "{" and params and not assigned:
            named = re.match(r"\w", tokens[at - 1][0]) and tokens[at - 1][0] not in ("const", "noexcept", "override")
            if not (members and named):
                return past_group(tokens, at)
        if token == "<" and at > begin and re.match(r"[A-Za-z_]", tokens[at - 1][0]) and not assigned and not params:
            at = past_angles(tokens, at)
        else:
            at = past_group(tokens, at) if token in OPENING else at + 1
    return at


def parameter_class(words):
    """What tells one parameter from another: its type; one word for all numbers, and one for all texts."""
    if "=" in words:
        words = words[: words.index("=")]
    words = [word for word in words if word not in ("const", "std", "::", "&", "constexpr", "plumb")]
    # The last word is the parameter's name, when there is a type before it.
    if len(words) > 1 and re.match(r"[A-Za-z_]", words[-1]) and words[-1] not in ("int", "long", "char", "double"):
        words = words[:-1]
    text = "".join(words)
    return "number" if NUMBERS.match(text) else "text" if text in TEXTS else text


def parameters(words):
    """How many must be given, and what each of them is."""
    if not words or words == ["void"]:
        return (0,)
    depth, parts = 0, [[]]
    for word in words:
        depth += (word in "([{<") - (word in ")]}>")
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return sum("=" not in part for part in parts), *(parameter_class(part) for part in parts)


def without_angles(words):
    """Positions of the words outside of <>, () and []."""
    depth, at = 0, []
    for i, word in enumerate(words):
        if word in ")]}" or (word == ">" and depth > 0):
            depth -= 1
        if depth == 0:
            at.append(i)
        if word in "([{" or (word == "<" and i > 0 and re.match(r"[A-Za-z_]", words[i - 1])):
            depth += 1
    return at


def declared(words):
    """(name, kind, meaning) of a declaration at namespace scope, or None where it declares nothing new."""
    if words[0] == "__extension__":
        words = words[1:]
    while words[:2] == ["[", "["]:
        words = words[words.index("]") + 2 :]
    if words[0] == "namespace":
        return words[1], "alias", tuple(words[3:-1])
    if words[0] == "using":
        if words[1] == "namespace":
            return "".join(words[2:-1]), "directive", ()
        if "=" in words:
            return words[1], "alias", tuple(words[words.index("=") + 1 : -1])
        return words[-2], "alias", tuple(word for word in words[1:-1] if word not in ("plumb", "::", "testing"))
    outer = without_angles(words)
    heads = [words[i] for i in outer]
    first_of = lambda signs: next((i for i in outer if words[i] in signs), len(words))
    for key in ("enum", "class", "struct", "union"):
        if key in heads and words.index(key) < min(first_of("(={"), len(words)):
            rest = [word for word in words[words.index(key) + 1 :] if word not in ("class", "struct", "alignas")]
            if rest[:1] == ["("]:
                rest = rest[rest.index(")") + 1 :]
            if len(rest) > 1 and rest[1] in ("{", ":", "final", ";") and re.match(r"[A-Za-z_]", rest[0]):
                return rest[0], "type", () if rest[1] == ";" else ("defined",)
            if rest[1:2] == ["<"] or rest[1:2] == ["::"]:
                return None
            break
    paren, end = first_of("("), first_of("=;{")
    if paren < end and paren > 0:
        name = words[paren - 1]
        if not re.match(r"[A-Za-z_]", name) or paren < 2 or words[paren - 2] == "::" or "operator" in words[:paren]:
            return None
        depth, close = 0, paren
        for close in range(paren, len(words)):
            depth += (words[close] in "(") - (words[close] in ")")
            if depth == 0:
                break
        return name, "function", parameters(words[paren + 1 : close])
    if "extern" in heads:
        return None
    end = first_of("=;{[")
    before = [i for i in outer if i < end]
    if len(before) < 2 or not re.match(r"[A-Za-z_]", words[before[-1]]) or words[before[-2]] == "::":
        return None
    return words[before[-1]], "variable", ()


def names_in(tokens, file, scope=(), at=0):
    """Names declared at namespace scope from `at`, and where this namespace ends."""
    found = []
    in_tests = ("plumb",) if file.startswith("tests" + os.sep) else ()  # by a using-directive there
    while at < len(tokens) and tokens[at][0] != "}":
        token = tokens[at][0]
        if token == ";":
            at += 1
        elif token == "inline" and tokens[at + 1][0] == "namespace":
            at += 1
        elif token == "namespace" and "=" not in [word for word, _ in tokens[at : at + 3]]:
            begin = at + 1
            while tokens[at][0] != "{":
                at += 1
            inner = tuple(word for word, _ in tokens[begin:at] if word != "::") or ("",)
            more, at = names_in(tokens, file, scope + inner, at + 1)
            found += more
            at += 1
        elif token == "extern" and [word for word, _ in tokens[at + 1 : at + 3]] == ['"', "{"]:
            more, at = names_in(tokens, file, scope, at + 3)
            found += more
            at += 1
        else:
            template = ()
            while tokens[at][0] == "template" and tokens[at + 1][0] == "<":
                begin = at + 1
                at = past_angles(tokens, begin)
                template = tuple(word for word, _ in tokens[begin:at])
            if at >= len(tokens):
                break
            begin, at = at, past_declaration(tokens, at)
            words = [word for word, _ in tokens[begin:at]]
            named = declared(words) if words and (words != ["}"]) else None
            if named:
                name, kind, meaning = named
                if kind == "function" and template:
                    meaning = tuple(re.sub(r"\b(%s)\b" % "|".join(map(re.escape, filter(str.isidentifier, template))), "T",
                                           one) if isinstance(one, str) else one for one in meaning)
                head = set(words[: words.index("(")] if kind == "function" else words)
                local = "" in scope or kind in ("type", "alias") or "static" in head or (
                    kind == "variable" and bool({"const", "constexpr"} & head) and "inline" not in head)
                named_scope = tuple(part for part in scope if part) or in_tests
                found.append(Name(name, kind, meaning, named_scope, local, file, tokens[begin][1]))
            at = max(at, begin + 1)
    return found, at


def related(a, b):
    length = min(len(a), len(b))
    return a[:length] == b[:length]


def names_passed(tokens):
    """Names that are arguments or values: `sorted(list, by_length)`. Overloads of a function that is one are ambiguous.
    Those that are variables here, too, are left out."""
    words = [word for word, _ in tokens]
    triples = list(zip(words, words[1:], words[2:]))
    used = {word for before, word, after in triples if before in "(,{=&?:" and after in "),};:" and word.isidentifier()}
    variables = {word for before, word, after in triples
                 if after in "),;:={[" and (before in "&*>" or before.isidentifier() and before != "return")}
    return used - variables


def collide(a, b, passed=frozenset()):
    if not related(a.scope, b.scope):
        return False
    if a.kind == b.kind == "function" and not {(a.file, a.name), (b.file, b.name)} & passed:
        given = max(a.meaning[0], b.meaning[0])  # with as few arguments as fit both
        return given < min(len(a.meaning), len(b.meaning)) and all(
            x == y or "T" in (x, y) for x, y in zip(a.meaning[1 : given + 1], b.meaning[1 : given + 1]))
    return not (a.kind == b.kind == "alias" and a.meaning == b.meaning)


def hall_of(path):
    """The sources that may be compiled with this one: those of a hall, or of one folder of tests."""
    parts = path.split(os.sep)
    return parts[0] if parts[0] != "tests" else os.path.join(*parts[: min(2, len(parts) - 1)])


def headers_of(hall):
    """The folders whose headers its sources may include."""
    tested = hall.removeprefix("tests" + os.sep)
    below = HALLS[: HALLS.index(tested) + 1] if tested in HALLS else HALLS
    return below if hall in HALLS else (*below, hall, os.path.join("tests", "support"))


def files_with(*endings):
    for top in (*HALLS, "tests"):
        for folder, _, names in os.walk(top):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(endings))


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", ".."))
    texts = {path: open(path, encoding="utf-8").read() for path in sorted(files_with(".cpp", ".hpp"))}
    findings = []
    names = {}
    inner_constants = defaultdict(list)
    passed = set()
    for path, text in texts.items():
        tokens = tokens_of(text)
        names[path] = names_in(tokens, path)[0]
        functions = {one.name for one in names[path] if one.kind == "function" and one.local}
        passed |= {(path, name) for name in names_passed(tokens) & functions}
        if path.endswith(".hpp"):
            continue
        for found in LOCAL_CONSTANT.finditer(text):
            inner_constants[hall_of(path), found[1]].append(f"{path}:{line_of(text, found.start(1))}")
        for found in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.MULTILINE):
            if not found[1].startswith("DOCTEST_CONFIG_") and not re.search(r"^[ \t]*#[ \t]*undef[ \t]+%s\b" % found[1], text[found.end() :], re.MULTILINE):
                findings.append(f"macro {found[1]} stays defined: {path}:{line_of(text, found.start())}")

    local, public = defaultdict(list), defaultdict(list)
    for path, declared_here in names.items():
        for one in declared_here:
            if one.kind == "directive":
                if hall_of(path) not in HALLS:
                    continue
                findings.append(f"using namespace {one.name} holds for the neighbours: {path}:{one.line}")
            elif path.endswith(".hpp"):
                public[one.name].append(one)
            elif one.local:
                local[hall_of(path), one.name].append(one)
    for (hall, name), here in local.items():
        pairs = set()
        for a, b in itertools.combinations(here, 2):
            if a.file != b.file and collide(a, b, passed) and (a.file, b.file) not in pairs:
                pairs.add((a.file, b.file))
                findings.append(f"{name}: {a.file}:{a.line}, {b.file}:{b.line}")
        seen = headers_of(hall)
        for a, b in itertools.product(here, public[name]):
            same = a.kind == "alias" and a.meaning == (name,)  # using plumb::name
            if not same and hall_of(b.file) in seen and a.scope[: len(b.scope)] == b.scope and collide(a, b, passed):
                findings.append(f"{name}: {a.file}:{a.line}, {b.file}:{b.line}")
        for a in here:  # a warning, which is an error in CI
            for place in inner_constants[hall, name] if a.kind == "variable" else ():
                if place.split(":")[0] != a.file:
                    findings.append(f"{name}: {a.file}:{a.line}, {place} (inside a function)")

    for name, here in public.items():
        for a, b in itertools.combinations(here, 2):
            if a.file != b.file and a.scope == b.scope and a.kind == b.kind != "function" and a.meaning == b.meaning != ():
                findings.append(f"{name}: {a.file}:{a.line}, {b.file}:{b.line} (in headers)")

    print("\n".join(sorted(set(findings))) + "\n" * bool(findings), end="")
    if findings:
        print(f"{len(set(findings))} findings")
        sys.exit(1)
    print(f"{sum(map(len, local.values()))} file-local names can share units")


if __name__ == "__main__":
    main()
