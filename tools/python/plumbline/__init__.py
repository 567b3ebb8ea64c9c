"""Plumbline: which pipeline schedule, and what will it cost me?

    import plumbline
    timeline = plumbline.simulate("zb-h1", devices=4, microbatches=8, cost="F=1,I=1,W=1")
    timeline.bubble_fraction, timeline.spans.start_ns

Keyword arguments are the options of the command of the same name, with underscores; `help(plumbline.simulate)` lists
them. What a command would refuse raises `plumbline.Error` with the same words.

The process keeps memory that a simulation frees for the next one, which makes large timelines several times faster;
`release_memory()` gives it back to the system. The environment variable PLUMBLINE_KEEP_MEMORY=0 leaves the allocator
of the process as it is.
"""
import json as _json
import os as _os
from typing import Any as _Any, Dict as _Dict

from . import _core
from ._core import LANES, MEMORY_CLASSES, OPS, Error
from .questions import (InvalidSchedule, ask, campaign, clusters, compare, convert, networks, plan, schedule, schedules,
                        search, simulate, sweep, trace, validate)
from .documents import (Campaign, Columns, Comparison, OrderSearch, Plan, Schedule, Sweep, Timeline, TracedRun,
                        Validation)

__version__ = _core.version

if _os.environ.get("PLUMBLINE_KEEP_MEMORY", "1") != "0":
    _core.keep_freed_memory()


def release_memory() -> bool:
    """Gives memory that earlier simulations have freed back to the system. Returns whether there was any."""
    return _core.release_freed_memory()


def line_picture(plot: _Dict[str, _Any]) -> str:
    """A diagram of lines as one SVG in the style of the program's pictures; needs no other package.

    plot: {"title", "note", "x": {"title", "logarithmic"}, "y": likewise, "series": [{"name", "x": [...], "y": [...],
    "low": [...], "high": [...], "colour": 0, "dashed", "points", "line", "region"}], "marks": [{"x", "y", "text"}]}.
    None in y leaves a gap; low and high are a band around y. Raises `Error` with the place of what is wrong.
    """
    return _core.line_picture(_json.dumps(plot))


__all__ = ["LANES", "MEMORY_CLASSES", "OPS", "Campaign", "Columns", "Comparison", "Error", "InvalidSchedule",
           "OrderSearch", "Plan", "Schedule", "Sweep", "Timeline", "TracedRun", "Validation", "ask", "campaign",
           "clusters", "compare", "convert", "line_picture", "networks", "plan", "release_memory", "schedule", "schedules", "search",
           "simulate", "sweep", "trace", "validate"]
