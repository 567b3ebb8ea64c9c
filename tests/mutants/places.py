"""Which top-level declaration a place in a source belongs to."""
import re


def top_level(code, begin):
    """First and last line of the declaration around `begin`, and whether it is a function. `code` has no comments or texts.

    The format of the sources does not indent what stands in a namespace: a declaration begins in the first column.
    """
    lines = code.split("\n")
    at = code.count("\n", 0, begin)
    first = at
    while first > 0 and not re.match(r"[\w\[]", lines[first]):
        first -= 1
    last = at if at > first else at + 1
    while last < len(lines) and not re.match(r"\S", lines[last]):
        last += 1
    head = re.split(r"[{;]", "\n".join(lines[first:last + 1]))[0]
    head = re.sub(r"\boperator\W+\(", "operator(", head)
    function = "(" in head and "=" not in head.split("(")[0] and not re.match(r"(struct|class|enum|namespace)\b", head)
    return first + 1, last + 1, function or bool(re.match(r"(struct|class)\b", head))
