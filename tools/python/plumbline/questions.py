"""The questions. Their keyword arguments come from the tables of options that the commands have."""
import inspect
import json
import keyword
from typing import Any, Callable, Dict, List, Union

from . import _core
from .documents import Campaign, Comparison, OrderSearch, Plan, Schedule, Sweep, Timeline, TracedRun, Validation

# Options of the command that `Timeline.report` and `Timeline.png` take.
_OF_PICTURES = ("width", "caption")
# The names under which a request carries a Schedule, and the profile of a TracedRun, that are no files.
_GIVEN = "given.json"
_PROFILE = "profile.json"


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
        request.setdefault("files", {})[_GIVEN] = schedule.text
    if isinstance(options.get("profile"), TracedRun):
        request.setdefault("files", {})[_PROFILE] = json.dumps(options["profile"].profile)
        options = {**options, "profile": _PROFILE}
    for name, value in options.items():
        if value is not None:
            request[name.rstrip("_").replace("_", "-")] = value
    return json.dumps(request)


def _answer(question: str, options: Dict[str, Any], **more: Any) -> Dict[str, Any]:
    return json.loads(_core.ask(_request(question, options, **more)))


def _named(schedule: Union[str, Schedule, None]) -> Dict[str, Any]:
    return {} if schedule is None else {"schedule": schedule}


def _takes_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of the command of the same name to the signature and to the documentation."""
    rows = [(name + "_" * keyword.iskeyword(name), placeholder, " ".join(text.split()))
            for name, _, placeholder, text in _core.options(function.__name__) if name not in _OF_PICTURES]
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
    not fit in memory is an answer: see `Timeline.fits`. profile: also a TracedRun, whose stages took so long.
    """
    job = _core.simulate(_request("simulate", options, **_named(schedule)), spans)
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
    """Simulates schedules over ranges of sizes: devices="4,8", microbatches="8:32:8". Uses all cores."""
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
def search(schedule: Union[str, Schedule, None] = None, **options: Any) -> OrderSearch:
    """Finds the best order for given costs and memory, with a bound on how much better any order could be.

    schedule: one to improve (a name, a file or a Schedule); without it every kind of order is tried. Abstract costs are
    those of a device (per_device of `simulate`). The search is false where no order fits in memory_limit.
    """
    return OrderSearch(_answer("search", options, want=["search", "text", "document"], **_named(schedule)))


@_takes_options
def campaign(schedule: Union[str, Schedule, None] = None, **options: Any) -> Campaign:
    """Plays a job over hours or days while nodes fail and go, by the rules of published systems.

    Steps come from the simulator (schedule with network, cluster and microbatches) or from a table (layouts).
    """
    return Campaign(_answer("campaign", options, want=["campaign", "text", "html"], **_named(schedule)))


@_takes_options
def trace(*traces: str, **options: Any) -> TracedRun:
    """Reads a real run from the traces of its ranks (files of a profiler)."""
    return TracedRun(_answer("trace", options, traces=list(traces), want=["timeline", "profile", "schedule", "text"]))


@_takes_options
def compare(a: Union[str, Timeline, TracedRun], b: Union[str, Timeline, TracedRun], **options: Any) -> Comparison:
    """Compares two runs action by action: files of timelines (or of profilers' traces), Timelines with spans, or
    TracedRuns.

    The comparison is false where a bound (max_error, memory_exact) is broken.
    """
    files = {name: run.json() for name, run in (("a.json", a), ("b.json", b)) if not isinstance(run, str)}
    runs = {"a": a if isinstance(a, str) else "a.json", "b": b if isinstance(b, str) else "b.json"}
    return Comparison(_answer("compare", options, files=files, want=["comparison", "text", "html"], **runs))


@_takes_options
def convert(schedule: Union[str, Schedule], **options: Any) -> str:
    """A schedule (a file or a Schedule) in another format, as a text: to="torch-csv", "megatron", "text", "json"."""
    if not isinstance(schedule, Schedule):
        return _answer("convert", options, **{"in": schedule})["document"]
    return _answer("convert", options, **{"in": _GIVEN, "files": {_GIVEN: schedule.text}})["document"]


def ask(request: Dict[str, Any]) -> Dict[str, Any]:
    """Answers any request document (tools/ask/REQUESTS.md) with its answer document."""
    return json.loads(_core.ask(json.dumps(request)))


def schedules() -> List[Dict[str, Any]]:
    """The built-in schedules, each with its options, sizes and source."""
    return ask({"ask": "schedules"})["schedules"]


def networks() -> List[Dict[str, Any]]:
    """The built-in networks."""
    return ask({"ask": "networks"})["networks"]


def clusters() -> List[Dict[str, Any]]:
    """The built-in clusters."""
    return ask({"ask": "clusters"})["clusters"]
