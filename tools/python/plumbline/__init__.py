"""Plumbline: which pipeline schedule, and what will it cost me?

    import plumbline
    timeline = plumbline.simulate("zb-h1", devices=4, microbatches=8, cost="F=1,I=1,W=1")
    timeline.bubble_fraction, timeline.spans.start_ns

Keyword arguments are the options of the command of the same name, with underscores; `help(plumbline.simulate)` lists
them. What a command would refuse raises `plumbline.Error` with the same words.
"""
from ._core import LANES, MEMORY_CLASSES, OPS, Error
from .questions import InvalidSchedule, compare, convert, plan, schedule, simulate, sweep, validate
from .documents import Columns, Comparison, Plan, Schedule, Sweep, Timeline, Validation

__all__ = ["LANES", "MEMORY_CLASSES", "OPS", "Columns", "Comparison", "Error", "InvalidSchedule", "Plan", "Schedule",
           "Sweep", "Timeline", "Validation", "compare", "convert", "plan", "schedule", "simulate", "sweep", "validate"]
