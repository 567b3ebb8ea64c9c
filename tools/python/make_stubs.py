#!/usr/bin/python3
"""Writes plumbline/questions.pyi, what type checkers and editors know of the questions, from the tables of options:

    PYTHONPATH=BUILD/python tools/python/make_stubs.py
"""
import inspect
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [place for place in sys.path if os.path.abspath(place or ".") != HERE]  # its `plumbline` lacks the compiled part
from plumbline import questions  # noqa: E402

HEAD = '''# Written by tools/python/make_stubs.py from the tables of options; a test compares them.
import os
from typing import Any, Dict, Iterable, List, Optional, Sequence, SupportsFloat, SupportsIndex, Union

from . import _core
from .documents import Campaign, Comparison, OrderSearch, Plan, Schedule, Sweep, Timeline, TracedRun, Validation

# The value of an option: a number (of numpy, too), a path, or the text that a command line would have; of an option that
# takes lists and ranges also several of them.
_Whole = Union[str, int, SupportsIndex, None]
_Value = Union[str, SupportsFloat, SupportsIndex, "os.PathLike[str]", None]
_Values = Union[str, Sequence[str], None]
_Several = Union[_Value, Iterable[Any]]

class InvalidSchedule(_core.Error):
    violations: List[str]
    def __init__(self, violations: List[str]) -> None: ...

def ask(request: Dict[str, Any]) -> Dict[str, Any]: ...
def schedules() -> List[Dict[str, Any]]: ...
def networks() -> List[Dict[str, Any]]: ...
def clusters() -> List[Dict[str, Any]]: ...
'''
# By `OptionKind` of tools/options/option_table.hpp: flag, text, texts, whole, real.
TYPES = ("Union[bool, None]", "_Value", "_Values", "_Whole", "_Value")
NAMES = ("simulate", "schedule", "validate", "sweep", "plan", "search", "campaign", "trace", "compare", "convert")


def annotation(parameter):
    """The type that the source states, as it would be written there."""
    return inspect.formatannotation(parameter.annotation).replace("plumbline.documents.", "").replace("typing.", "") \
        .replace("NoneType", "None")


def stub(name):
    """The function's parameters: its own, then a keyword for every option."""
    function = getattr(questions, name)
    kinds = {option: kind for option, kind, _, _ in questions._core.options(name)}
    parts, keywords_begin = [], True
    for parameter in inspect.signature(function).parameters.values():
        own = parameter.annotation is not parameter.empty
        if parameter.kind is parameter.KEYWORD_ONLY and keywords_begin:
            keywords_begin = False
            if not any(part.startswith("*") for part in parts):
                parts.append("*")
        kind = annotation(parameter) if own else TYPES[kinds[parameter.name.rstrip("_")]]
        if not own and parameter.name in questions._joined[name]:
            kind = "_Several"
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        parts.append(f"{star}{parameter.name}: {kind}{'' if parameter.default is parameter.empty else ' = ...'}")
    returns = inspect.signature(function).return_annotation
    return f"\ndef {name}(\n    " + ",\n    ".join(parts) + f",\n) -> {returns.__name__}: ...\n"


def stubs():
    """The whole file."""
    return HEAD + "".join(stub(name) for name in NAMES)


if __name__ == "__main__":
    with open(os.path.join(HERE, "plumbline", "questions.pyi"), "w") as file:
        file.write(stubs())
