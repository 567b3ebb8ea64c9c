"""Two runs of the same order, action by action: durations, moments of beginning, critical paths.

An action is known by its place in a step (device, stage, kind, microbatch of the step, slice), a step by its number. Times are
nanoseconds, as in timeline documents (sim/timeline/TIMELINE_DOCUMENT.md).
"""
import math
import re
import statistics
from collections import defaultdict, namedtuple

TEXT = re.compile(r"(\d+:)?(\d+)([A-Z]+)(\d+)(.*)")
BACKWARD = ("B", "I")

Action = namedtuple("Action", "step place begin end")  # place: Place, see below
Place = namedtuple("Place", "device stage kind microbatch part")  # part: slice, and what else its text says


def actions_of(document):
    """The passes (no updates, messages or reductions) of a timeline document, by device and then by time."""
    per_step = document["num_microbatches"] // document["updates"]
    found = []
    for span in document["spans"]:
        match = TEXT.fullmatch(span["action"]) if span["lane"] == "compute" else None
        if match and match[3] not in ("U",):
            number = int(match[4])
            place = Place(span["device"], int(match[2]), match[3], number % per_step, match[5])
            found.append(Action(number // per_step, place, span["start_ns"], span["end_ns"]))
    return found


def durations(runs, first_step):
    """Median duration by place, over all steps of all runs from `first_step` on."""
    by_place = defaultdict(list)
    for run in runs:
        for action in run:
            if action.step >= first_step:
                by_place[action.place].append(action.end - action.begin)
    return {place: statistics.median(times) for place, times in by_place.items()}


def duration_errors(predicted, runs, first_step):
    """Relative error of every action's duration, sorted: predicted against the median of the runs."""
    ours, theirs = durations([predicted], first_step), durations(runs, first_step)
    return sorted(ours[place] / theirs[place] - 1 for place in ours if theirs.get(place))


def start_errors(predicted, runs, first_step):
    """By device: root mean square, in ns, of how far actions begin from when they were predicted to, over all steps of all runs.

    Every step is first shifted so that the median of all its differences is 0: what earlier steps took does not count.
    """
    ours = {(action.step, action.place): action.begin for action in predicted}
    squares = defaultdict(list)
    for run in runs:
        steps = defaultdict(list)
        for action in run:
            if action.step >= first_step and (action.step, action.place) in ours:
                steps[action.step].append((action.place.device, action.begin - ours[action.step, action.place]))
        for differences in steps.values():
            shift = statistics.median(difference for _, difference in differences)
            for device, difference in differences:
                squares[device].append((difference - shift) ** 2)
    return {device: math.sqrt(statistics.fmean(values)) for device, values in sorted(squares.items())}


def producers(place):
    """What a pass reads, as (stage, kinds): the activation, the gradient, or what the first half of its backward left."""
    if place.kind == "F":
        return [(place.stage - 1, ("F",))]
    if place.kind in BACKWARD:
        return [(place.stage + 1, BACKWARD), (place.stage, ("F",))]
    return [(place.stage, ("I",))] if place.kind == "W" else []


def critical_path(run):
    """The (step, place) of the actions that the end waited for, from the last backwards: each time the one that ended last of the
    action before it on its device and those whose results it reads."""
    by_device, by_result = defaultdict(list), defaultdict(list)
    for action in sorted(run, key=lambda action: action.begin):
        by_device[action.place.device].append(action)
        by_result[action.step, action.place.stage, action.place.kind, action.place.microbatch].append(action)
    before = {}
    for line in by_device.values():
        before.update(zip(line[1:], line))
    path, current = [], max(run, key=lambda action: action.end)
    while current is not None:
        path.append(current)
        candidates = [before[current]] if current in before else []
        for stage, kinds in producers(current.place):
            for kind in kinds:
                results = by_result[current.step, stage, kind, current.place.microbatch]
                candidates += [result for result in results if result.place.part in (current.place.part, "")]
        earlier = [action for action in candidates if action.end < current.end and action is not current]
        current = max(earlier, key=lambda action: action.end, default=None)
    return path[::-1]


def path_share(predicted, run, first_step):
    """Share of the run's critical path, by time, that lies on the predicted one, too. With equal devices several paths are about
    equally long, and which of them is the longest is chance: the share is then low in any prediction."""
    ours = {(action.step, action.place) for action in critical_path(predicted)}
    theirs = [action for action in critical_path(run) if action.step >= first_step]
    total = sum(action.end - action.begin for action in theirs)
    named = sum(action.end - action.begin for action in theirs if (action.step, action.place) in ours)
    return named / total if total else 0.0


def step_times(document, first_step):
    """Length of every step from `first_step` on: between the ends of one update and the next, of the device that ends last."""
    ends = defaultdict(int)
    for span in document["spans"]:
        match = TEXT.fullmatch(span["action"]) if span["lane"] == "compute" else None
        if match and match[3] == "U":
            ends[int(match[4])] = max(ends[int(match[4])], span["end_ns"])
    return [ends[step] - ends[step - 1] for step in sorted(ends) if step >= first_step and step - 1 in ends]
