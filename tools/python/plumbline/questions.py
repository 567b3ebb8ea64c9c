"""The questions. Their keyword arguments come from the tables of options that the commands have."""
import inspect
import json
import keyword
from typing import Any, Callable, Dict, Union

from . import _core
from .documents import Comparison, Plan, Schedule, Sweep, Timeline, Validation

# The name under which a request carries a Schedule that is no file.
_GIVEN = "given.json"


class InvalidSchedule(_core.Error):
    """A schedule that cannot run. `violations` has a line for each reason."""

    def __init__(self, violations: "list[str]"):
        super().__init__("\n".join(violations))
        self.violations = violations


def _request(question: str, options: Dict[str, Any], **more: Any) -> str:
    request = {"ask": question, **more}
    schedule = request.get("schedule")
    if isinstance(schedule, Schedule):
        request["schedule"] = _GIVEN
        request["files"] = {_GIVEN: schedule.text}
    for name, value in options.items():
        if value is not None:
            request[name.rstrip("_").replace("_", "-")] = value
    return json.dumps(request)


def _answer(question: str, options: Dict[str, Any], **more: Any) -> Dict[str, Any]:
    return json.loads(_core.ask(_request(question, options, **more)))


def _takes_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of the command of the same name to the signature and to the documentation."""
    rows = [(name + "_" * keyword.iskeyword(name), placeholder, " ".join(text.split()))
            for name, _, placeholder, text in _core.options(function.__name__)]
    signature = inspect.signature(function)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    taken = {parameter.name for parameter in own}
    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
             for name, _, _ in rows if name not in taken]
    function.__signature__ = signature.replace(parameters=own + added)
    lines = [f"    {name}{' (' + placeholder + ')' if placeholder else ''}: {text}" for name, placeholder, text in rows]
    function.__doc__ = "\n".join([inspect.getdoc(function) or "", "", "Options:", *lines])
    return function


@_takes_options
def simulate(schedule: Union[str, Schedule, None] = None, *, spans: bool = True, **options: Any) -> Timeline:
    """Predicts times, bubbles and memory of a schedule (a name, a file or a Schedule).

    spans: whether the timeline has spans and memory curves; without them a simulation is several times faster.
    Raises `InvalidSchedule` for a schedule that cannot run, and `Error` for what cannot be understood. A job that does
    not fit in memory is an answer: see `Timeline.fits`.
    """
    given = {} if schedule is None else {"schedule": schedule}
    job = _core.simulate(_request("simulate", options, **given), spans)
    if job.violations:
        raise InvalidSchedule(job.violations)
    return Timeline(job, spans)


@_takes_options
def schedule(name: str, **options: Any) -> Schedule:
    """The schedule `name` (or in the file `name`), for a number of devices and microbatches.

    Raises `InvalidSchedule` for one that cannot run.
    """
    answer = _answer("schedule", options, schedule=name)
    if answer["status"] != 0:
        raise InvalidSchedule(answer["findings"])
    return Schedule(answer["document"])


@_takes_options
def validate(schedule: Union[str, Schedule], **options: Any) -> Validation:
    """Checks that a schedule is complete, in a possible order, and free of deadlocks."""
    return Validation(_answer("validate", options, schedule=schedule))


@_takes_options
def sweep(*schedules: str, **options: Any) -> Sweep:
    """Simulates schedules over ranges of sizes: devices="4,8", microbatches="8-32*2". Uses all cores."""
    return Sweep(_answer("sweep", options, schedules=list(schedules), want=["csv", "text"]))


@_takes_options
def plan(network: Union[str, None] = None, cluster: Union[str, None] = None, batch: Union[int, None] = None,
         **options: Any) -> Plan:
    """Finds the fastest parallel configuration of a network on a cluster: batch is in samples per update.

    The search simulates thousands of plans and takes seconds to minutes (time_limit: at most so many seconds).
    Where nothing fits in memory, the plan is false and `Plan.findings` says why.
    """
    given = {"network": network, "cluster": cluster, "batch": batch}
    options.update({name: value for name, value in given.items() if value is not None})
    return Plan(_answer("plan", options, want=["plan", "text", "document"]))


@_takes_options
def compare(a: Union[str, Timeline], b: Union[str, Timeline], **options: Any) -> Comparison:
    """Compares two runs action by action: files of timelines (or of profilers' traces), or Timelines with spans.

    The comparison is false where a bound (max_error, memory_exact) is broken.
    """
    files = {name: run.json() for name, run in (("a.json", a), ("b.json", b)) if isinstance(run, Timeline)}
    runs = {"a": "a.json" if isinstance(a, Timeline) else a, "b": "b.json" if isinstance(b, Timeline) else b}
    return Comparison(_answer("compare", options, files=files, want=["comparison", "text", "html"], **runs))


@_takes_options
def convert(schedule: Union[str, Schedule], **options: Any) -> str:
    """A schedule (a file or a Schedule) in another format, as a text: to="torch-csv", "megatron", "text", "json"."""
    if not isinstance(schedule, Schedule):
        return _answer("convert", options, **{"in": schedule})["document"]
    return _answer("convert", options, **{"in": _GIVEN, "files": {_GIVEN: schedule.text}})["document"]
