"""What the studies of results/ share: numbers as the program writes them, tables, and where the program is.

`./plumbline reproduce NAME` starts a study with the Python module of the source tree. With an installed module
`python3 results/NAME/study.py` does the same; PLUMBLINE names the program that trains and plans (default: plumbline).
"""
import math
import os
import pathlib
import sys
import unicodedata

RESULTS = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("PLUMBLINE", "plumbline")


class WrongInput(Exception):
    """What cannot be done: one line that says where, what, and what was expected."""


def fixed(value, digits):
    return "nan" if math.isnan(value) else f"{value:.{digits}f}"


def number_text(value, digits=4):
    """So many significant digits, without zeros at the end and without an exponent."""
    if value == 0 or not math.isfinite(value):
        return "0" if math.isfinite(value) else "-"
    decimals = min(max(digits - 1 - math.floor(math.log10(abs(value))), 0), 12)
    text = fixed(value, decimals)
    if decimals > 0:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent_text(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def signed_percent(share):
    return ("+" if share > 0 else "") + percent_text(share)


def time_text(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)):
        if abs(ns) >= size or unit == "ns":
            return f"{number_text(ns / size)} {unit}"


def bytes_text(count):
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(count) >= 1024 and len(units) > 1:
        count /= 1024
        units.pop(0)
    return f"{number_text(count)} {units[0]}"


def total(values):
    """The sum in the order of the values."""
    result = 0.0
    for value in values:
        result += value
    return result


def markdown(head, rows, right=()):
    """A table. `right`: whether each column is aligned to the right."""
    lines = [head, ["---:" if align else "---" for align in right] if right else ["---"] * len(head), *rows]
    text = ["| " + " | ".join(row) + " |\n" for row in lines]
    text[1] = "|" + "|".join(lines[1]) + "|\n"
    return "".join(text)


def _width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def columns(head, rows, right):
    """A table for a terminal."""
    widths = [max(_width(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [" " * (width - _width(cell)) + cell if align else cell + " " * (width - _width(cell))
                 for cell, width, align in zip(row, widths, right)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def between_marks(page, text):
    """The page with `text` in place of what stands between the marks of claims."""
    begin, end = "<!-- claims -->\n", "<!-- end of claims -->"
    if begin not in page or end not in page:
        raise WrongInput(f"expected the lines {begin.strip()} and {end}")
    return page[:page.index(begin) + len(begin)] + text + page[page.index(end):]


def known(name, names, what):
    """The name, if it is one of `names`."""
    if name not in names:
        raise WrongInput(f"unknown {what} '{name}', expected one of {', '.join(names)}")
    return name


def progress(text):
    print(f"plumbline: {text}", file=sys.stderr, flush=True)


def run(main):
    """Runs a study. Its status: what `main` returns; 2 for wrong input, which is one line."""
    import plumbline

    try:
        sys.exit(main())
    except (WrongInput, plumbline.Error, OSError) as error:
        print(f"plumbline: error: {error}", file=sys.stderr)
        sys.exit(2)
