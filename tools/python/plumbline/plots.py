"""Pictures for papers, with matplotlib. Every function draws into `axes`, or into new ones, and returns them."""
from typing import Any, Iterator, Optional, Tuple

from . import _core
from .documents import Sweep, Timeline


def _new_axes(axes: Optional[Any]) -> Any:
    import matplotlib.pyplot

    return axes if axes is not None else matplotlib.pyplot.subplots(figsize=(6.4, 2.4), constrained_layout=True)[1]


def _readable_on(colour: str) -> str:
    """Black or white, whichever has more contrast on `colour` ("#rrggbb"), by the relative luminance of WCAG 2."""
    shares = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "white"


def _bars(run: Timeline) -> Iterator[Tuple[int, int, int, float, float]]:
    """What a timeline draws: span, start and end in ns, and where its bar's upper edge and height are, in rows from the
    middle of its own. The members of an overlapped pair share the pair's interval and half a row each."""
    spans = run.spans
    compute = _core.LANES.index("compute")
    drawn = [i for i in range(len(spans)) if spans.lane[i] == compute and spans.start_ns[i] < spans.end_ns[i]]
    k = 0
    while k < len(drawn):
        i = drawn[k]
        start, end = int(spans.start_ns[i]), int(spans.end_ns[i])
        k += 1
        if k == len(drawn) or spans.device[drawn[k]] != spans.device[i] or spans.start_ns[drawn[k]] >= end:
            yield i, start, end, -0.45, 0.9
            continue
        end = max(end, int(spans.end_ns[drawn[k]]))
        yield i, start, end, -0.45, 0.45
        yield drawn[k], start, end, 0, 0.45
        k += 1


def timeline(run: Timeline, axes: Optional[Any] = None) -> Any:
    """Compute spans over time in ms, a row per device, a colour per op, the microbatch in every span that has room.
    Two actions at once (an overlapped pair) have half of the row each."""
    axes = _new_axes(axes)
    spans = run.spans
    colours = dict(zip(_core.OPS, _core.OP_COLOURS))
    seen = set()
    for i, start_ns, end_ns, top, height in _bars(run):
        op = _core.OPS[spans.op[i]]
        start, width = start_ns / 1e6, (end_ns - start_ns) / 1e6
        label = None if op in seen else op
        seen.add(op)
        axes.barh(spans.device[i] + top, width, left=start, height=height, align="edge", color=colours[op],
                  edgecolor="black", linewidth=0.3, label=label)
        if width * 1e6 * 60 > run.makespan_ns:
            axes.text(start + width / 2, spans.device[i] + top + height / 2, str(spans.microbatch[i]), ha="center",
                      va="center", fontsize=6 if height > 0.5 else 4, color=_readable_on(colours[op]))
    axes.invert_yaxis()
    axes.set_yticks(sorted({int(device) for device in spans.device}))
    axes.set_xlabel("time (ms)")
    axes.set_ylabel("device")
    axes.legend(fontsize=6, ncol=len(seen), loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    return axes


def memory_of(run: Timeline, device: int) -> Any:
    """The memory of a device over time: arrays time_ns and bytes, summed over all classes. Needs numpy."""
    import numpy

    points = run.memory
    chosen = numpy.flatnonzero(points.device == device)
    classes, amounts = points.memory_class[chosen], points.bytes[chosen]
    change = numpy.zeros(len(chosen), dtype=numpy.int64)
    for one in numpy.unique(classes):
        of_class = numpy.flatnonzero(classes == one)
        change[of_class] = numpy.diff(amounts[of_class], prepend=0)
    times = points.time_ns[chosen]
    last = numpy.append(times[1:] != times[:-1], True) if len(times) else numpy.zeros(0, dtype=bool)
    return times[last], numpy.cumsum(change)[last]


def memory(run: Timeline, axes: Optional[Any] = None) -> Any:
    """Memory over time in GiB, a line per device; of a run with abstract costs, in stashes of 1/p of the model."""
    in_bytes = len(run.memory) > 0
    if not in_bytes and len(run.stashes) == 0:
        raise _core.Error("memory: this run holds nothing over time, expected one with activations")
    axes = _new_axes(axes)
    for device in range(len(run.devices)):
        if in_bytes:
            times, amounts = memory_of(run, device)
            amounts = amounts / 2**30
        else:
            times = run.stashes.time_ns[run.stashes.device == device]
            amounts = run.stashes.amount[run.stashes.device == device]
        axes.step(times / 1e6, amounts, where="post", label=f"device {device}")
    axes.set_xlabel("time (ms)")
    axes.set_ylabel("memory (GiB)" if in_bytes else "stashes of 1/p of the model")
    axes.legend(fontsize=6)
    return axes


def bubble_against_memory(points: Sweep, axes: Optional[Any] = None) -> Any:
    """Bubble fraction against the peak of activations (in those of one microbatch on 1/p of the model), a labelled point per row."""
    axes = _new_axes(axes)
    xs, ys = points.column("peak_device_stashes"), points.column("bubble_fraction")
    axes.scatter(xs, ys, s=12)
    for row, x, y in zip(points.rows, xs, ys):
        axes.annotate(row["schedule"], (x, y), fontsize=6, xytext=(2, 2), textcoords="offset points")
    axes.margins(0.08, 0.12)  # room for the names
    axes.set_xlabel("peak of the fullest device, in activations of 1/p of the model")
    axes.set_ylabel("bubble fraction")
    return axes
