#!/usr/bin/env python3
"""Draws several schedules above each other on one time axis.

    PYTHONPATH=build/release/python python3 results/pictures/one_axis.py

writes one_axis.svg next to this script: 1F1B, ZB-H1 and ZB-V do the same work on four devices. Colours are those of
tools/reports/report_palette.hpp.
"""
import pathlib

import plumbline

FOLDER = pathlib.Path(__file__).resolve().parent
DEVICES, MICROBATCHES, COST = 4, 8, "F=1,I=1,W=1"
SCHEDULES = (("1f1b", "1F1B"), ("zb-h1", "ZB-H1"), ("zb-v", "ZB-V"))

WIDTH, LEFT, RIGHT = 960, 118, 12
TOP, PANEL, ROW, GAP = 8, 132, 24, 3
HEADING = 20
NS_PER_UNIT = 1e6
COLOURS = {"F": ("#2a5cb0", "#7a9ad0"), "B": ("#f0943f", "#f6bf8c"), "I": ("#dd5b50", "#eb9d96"),
           "W": ("#f6cf6d", "#fae2a7")}  # the first stage of a device, and its second
LIGHT_TEXT = {"F"}
LEGEND = (("F", "forward"), ("B", "backward"), ("I", "input gradient"), ("W", "weight gradient"))
STYLE = """<style>
text{font-family:Inter,"Segoe UI",system-ui,-apple-system,"Helvetica Neue",Arial,"Liberation Sans",sans-serif}
.bg{fill:#ffffff}.lane{fill:#eef1f4}.ink{fill:#18222d}.dim{fill:#5d6b7a}.grid{stroke:#cfd7df}
@media (prefers-color-scheme:dark){
.bg{fill:#10171f}.lane{fill:#1f2933}.ink{fill:#eaf0f6}.dim{fill:#93a2b2}.grid{stroke:#3a4653}}
</style>
"""


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def rect(x, y, width, height, more):
    return f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" {more}/>\n'


def text(x, y, size, more, content):
    return f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" {more}>{content}</text>\n'


def stages_by_device(spans):
    """Of every device its stages, in ascending order."""
    held = [set() for _ in range(DEVICES)]
    for device, stage in zip(spans.device, spans.stage):
        held[device].add(int(stage))
    return [sorted(stages) for stages in held]


def boxes(run, top, scale):
    """The actions of a run that take time, a row for each device."""
    spans, out = run.spans, ""
    held = stages_by_device(spans)
    for device, op, stage, microbatch, start, end, lane in zip(
            spans.device, spans.op, spans.stage, spans.microbatch, spans.start_ns, spans.end_ns, spans.lane):
        name = plumbline.OPS[op]
        if plumbline.LANES[lane] != "compute" or name not in COLOURS or end == start:
            continue
        level = held[device].index(int(stage))
        x, width = LEFT + start * scale, (end - start) * scale
        y = top + HEADING + device * (ROW + GAP)
        out += rect(x, y, width - 1, ROW, f'rx="2" fill="{COLOURS[name][level]}"')
        light = name in LIGHT_TEXT and level == 0
        if width > 12:
            fill = "#ffffff" if light else "#101821"
            out += text(x + width / 2 - 0.5, y + ROW / 2 + 4, 11, f'fill="{fill}" text-anchor="middle"', int(microbatch))
    return out


def panel(title, run, top, scale):
    """A schedule: its heading, its rows, and a line where it ends."""
    step = run.step_time_ns / NS_PER_UNIT
    bottom = top + HEADING + DEVICES * (ROW + GAP)
    out = text(LEFT, top + 12, 15, 'class="ink" font-weight="700"', title)
    out += text(LEFT + 64, top + 12, 13, 'class="dim"',
                f"a step takes {number(step)} units, devices idle {100 * run.bubble_fraction:.0f} %")
    for device in range(DEVICES):
        y = top + HEADING + device * (ROW + GAP)
        out += rect(LEFT, y, WIDTH - LEFT - RIGHT, ROW, 'class="lane"')
        out += text(LEFT - 10, y + ROW / 2 + 4, 12, 'class="dim" text-anchor="end"', f"device {device}")
    out += boxes(run, top, scale)
    end = LEFT + run.makespan_ns * scale
    return out + f'<path class="grid" stroke-width="2" d="M{number(end)} {top + 4}V{number(bottom)}"/>\n'


def axis(bottom, units, scale):
    out = text(LEFT - 10, bottom + 14, 12, 'class="dim" text-anchor="end"', "time")
    for unit in range(0, int(units) + 1, 5):
        out += text(LEFT + unit * NS_PER_UNIT * scale, bottom + 14, 12, 'class="dim" text-anchor="middle"', unit)
    left = LEFT
    for op, name in LEGEND:
        out += rect(left, bottom + 26, 14, 12, f'rx="2" fill="{COLOURS[op][0]}"')
        out += text(left + 20, bottom + 36, 12.5, 'class="dim"', name)
        left += 44 + 7 * len(name)
    return out + text(left, bottom + 36, 12.5, 'class="dim"', "lighter: the device's second stage; grey: idle")


def picture():
    runs = [plumbline.simulate(name, devices=DEVICES, microbatches=MICROBATCHES, cost=COST) for name, _ in SCHEDULES]
    longest = max(run.makespan_ns for run in runs)
    scale = (WIDTH - LEFT - RIGHT) / longest
    bottom = TOP + PANEL * len(runs)
    label = "; ".join(f"{title} takes {number(run.step_time_ns / NS_PER_UNIT)} units"
                      for (_, title), run in zip(SCHEDULES, runs))
    out = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 50}" role="img" aria-label="{label}">\n'
    out += f"<title>{label}</title>\n{STYLE}" + rect(0, 0, WIDTH, bottom + 50, 'class="bg" rx="8"')
    for at, ((_, title), run) in enumerate(zip(SCHEDULES, runs)):
        out += panel(title, run, TOP + PANEL * at, scale)
    return out + axis(bottom, longest / NS_PER_UNIT, scale) + "</svg>\n"


if __name__ == "__main__":
    (FOLDER / "one_axis.svg").write_text(picture())
