"""The questions. Their keyword arguments come from the tables of options that the commands have."""
import inspect
import json
import keyword
import math
import numbers
import os
from typing import Any, Callable, Dict, Iterable, List, Set, Union

from . import _core
from .documents import Campaign, Comparison, OrderSearch, Plan, Schedule, Sweep, Timeline, TracedRun, Validation

# Options of the command that `Timeline.report` and `Timeline.png` take.
_OF_PICTURES = ("width", "caption")
# The names under which a request carries what is no file: a Schedule as a document or as lines, the profile of a
# TracedRun, and runs (`a`, `b`).
_GIVEN = "given.json"
_GIVEN_LINES = "given.txt"
_PROFILE = "given-profile.json"
_GIVEN_RUN = "given-{}.json"
# What the placeholder of an option contains whose values stand in one text, with commas.
_SEVERAL = ("RANGE", "LIST", "NAMES")
# The options of every question that are so.
_joined: Dict[str, Set[str]] = {}
_A_RUN = "a file, a Timeline, a TracedRun or the text of a timeline document"
_A_SCHEDULE = "a name, a file, a Schedule or the text of one"

_Path = Union[str, os.PathLike[str]]


class InvalidSchedule(_core.Error):
    """A schedule that cannot run. `violations` has a line for each reason."""

    def __init__(self, violations: "list[str]"):
        super().__init__("\n".join(violations))
        self.violations = violations


def _plain(value: Any, where: str) -> Any:
    """The value as JSON has it: numbers of numpy become Python's, paths texts, and arrays and ranges lists.

    `where` begins the message of an `Error` about a value that is none of them.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        if not math.isfinite(value):
            raise _core.Error(f"{where}: {value} is not a finite number, expected one")
        return float(value)
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), where)
    if isinstance(value, (list, tuple, range)):
        return [_plain(each, where) for each in value]
    raise _core.Error(f"{where}: {type(value).__name__}, expected a text, a number, a path, True, False or a list of them")


def _option(question: str, name: str, value: Any) -> Any:
    """The value of an option as a request has it."""
    if isinstance(value, (str, int)):  # almost every one
        return value
    plain = _plain(value, f"{question}: {name}")
    if not isinstance(plain, list) or name not in _joined.get(question, ()):
        return plain
    if not plain:
        raise _core.Error(f"{question}: {name}: no values, expected at least one")
    return ",".join(map(str, plain))


def _is_content(text: str) -> bool:
    """Whether a text is what a file holds, not the file's name."""
    return "\n" in text or text.lstrip().startswith("{")


def _name(value: Any, where: str, expected: str) -> str:
    """A name or the path of a file. Throws `Error` for what is neither."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise _core.Error(f"{where}: {type(value).__name__}, expected {expected}")
    if _is_content(value) or len(value) > 255 and not os.path.exists(value):
        raise _core.Error(f"{where}: a text of {len(value)} characters that begins {value[:40]!r}, expected {expected}")
    return value


def _names(given: Iterable[Any], where: str, expected: str) -> List[str]:
    """Names and paths, with those inside lists."""
    flat = [each for one in given for each in (one if isinstance(one, (list, tuple)) else [one])]
    return [_name(each, where, expected) for each in flat]


def _request(question: str, options: Dict[str, Any], **more: Any) -> str:
    request = {"ask": question, **more}
    if isinstance(options.get("profile"), TracedRun):
        request.setdefault("files", {})[_PROFILE] = json.dumps(options["profile"].profile)
        options = {**options, "profile": _PROFILE}
    for name, value in options.items():
        if value is not None:
            request[name.rstrip("_").replace("_", "-")] = _option(question, name, value)
    return json.dumps(request)


def _answer(question: str, options: Dict[str, Any], **more: Any) -> Dict[str, Any]:
    return json.loads(_core.ask(_request(question, options, **more)))


def _scheduled(question: str, schedule: Any, field: str = "schedule") -> Dict[str, Any]:
    """The fields of a request that say its schedule: a name, a file, a Schedule or the text of one."""
    if schedule is None:
        return {}
    if isinstance(schedule, str) and _is_content(schedule):
        schedule = Schedule(schedule)
    if isinstance(schedule, Schedule):
        file = _GIVEN if schedule.text.lstrip().startswith("{") else _GIVEN_LINES
        return {field: file, "files": {file: schedule.text}}
    return {field: _name(schedule, f"{question}: schedule", _A_SCHEDULE)}


def _takes_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of the command of the same name to the signature and to the documentation."""
    rows = [(name + "_" * keyword.iskeyword(name), placeholder, " ".join(text.split()))
            for name, _, placeholder, text in _core.options(function.__name__) if name not in _OF_PICTURES]
    _joined[function.__name__] = {name for name, _, placeholder, _ in _core.options(function.__name__)
                                  if any(word in placeholder for word in _SEVERAL)}
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
def simulate(schedule: Union[_Path, Schedule, None] = None, *, spans: bool = True, **options: Any) -> Timeline:
    """Predicts times, bubbles and memory of a schedule (a name, a file or a Schedule).

    spans: whether the timeline has spans and memory curves; without them a simulation is several times faster.
    Raises `InvalidSchedule` for a schedule that cannot run, and `Error` for what cannot be understood. A job that does
    not fit in memory is an answer: see `Timeline.fits`. profile: also a TracedRun, whose stages took so long.
    """
    job = _core.simulate(_request("simulate", options, **_scheduled("simulate", schedule)), spans)
    if job.violations:
        raise InvalidSchedule(job.violations)
    return Timeline(job, spans)


@_takes_options
def schedule(name: _Path, **options: Any) -> Schedule:
    """The schedule `name` (or in the file `name`), for a number of devices and microbatches.

    Raises `InvalidSchedule` for one that cannot run.
    """
    answer = _answer("schedule", options, **_scheduled("schedule", name))
    if answer["status"] != 0:
        raise InvalidSchedule(answer["findings"])
    return Schedule(answer["document"])


@_takes_options
def validate(schedule: Union[_Path, Schedule], **options: Any) -> Validation:
    """Checks that a schedule is complete, in a possible order, and free of deadlocks."""
    return Validation(_answer("validate", options, **_scheduled("validate", schedule)))


@_takes_options
def sweep(*schedules: _Path, **options: Any) -> Sweep:
    """Simulates schedules over ranges of sizes: devices="4,8" or [4, 8], microbatches="8:32:8". Uses all cores."""
    names = _names(schedules, "sweep: schedules", "names and files")
    return Sweep(_answer("sweep", options, schedules=names, want=["csv", "text"]))


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
def search(schedule: Union[_Path, Schedule, None] = None, **options: Any) -> OrderSearch:
    """Finds the best order for given costs and memory, with a bound on how much better any order could be.

    schedule: one to improve (a name, a file or a Schedule); without it every kind of order is tried. Abstract costs are
    those of a device's share of the model. The search is false where no order fits in memory_limit.
    """
    return OrderSearch(_answer("search", options, want=["search", "text", "document"], **_scheduled("search", schedule)))


@_takes_options
def campaign(schedule: Union[_Path, Schedule, None] = None, **options: Any) -> Campaign:
    """Plays a job over hours or days while nodes fail and go, by the rules of published systems.

    Steps come from the simulator (schedule with network, cluster and microbatches) or from a table (layouts).
    """
    return Campaign(_answer("campaign", options, want=["campaign", "text", "html"], **_scheduled("campaign", schedule)))


@_takes_options
def trace(*traces: _Path, **options: Any) -> TracedRun:
    """Reads a real run from the traces of its ranks (files of a profiler)."""
    return TracedRun(_answer("trace", options, traces=_names(traces, "trace: traces", "files"), want=["timeline", "profile", "schedule", "text"]))


def _compared(run: Any, where: str) -> "tuple[str, Union[str, None]]":
    """The file of a run, and what is in it where it is none on disk."""
    if isinstance(run, (Timeline, TracedRun)):
        return _GIVEN_RUN.format(where[-1]), run.json()
    if isinstance(run, str) and run.lstrip().startswith("{"):
        return _GIVEN_RUN.format(where[-1]), run
    return _name(run, where, _A_RUN), None


@_takes_options
def compare(a: Union[_Path, Timeline, TracedRun], b: Union[_Path, Timeline, TracedRun], **options: Any) -> Comparison:
    """Compares two runs action by action: files of timelines (or of profilers' traces), Timelines with spans,
    TracedRuns, or the texts of timeline documents.

    The comparison is false where a bound (max_error, memory_exact) is broken.
    """
    runs = {name: _compared(run, f"compare: {name}") for name, run in (("a", a), ("b", b))}
    files = {file: text for file, text in runs.values() if text is not None}
    named = {name: file for name, (file, _) in runs.items()}
    return Comparison(_answer("compare", options, files=files, want=["comparison", "text", "html"], **named))


@_takes_options
def convert(schedule: Union[_Path, Schedule], **options: Any) -> str:
    """A schedule (a file or a Schedule) in another format, as a text: to="torch-csv", "megatron", "text", "json"."""
    return _answer("convert", options, **_scheduled("convert", schedule, "in"))["document"]


def ask(request: Dict[str, Any]) -> Dict[str, Any]:
    """Answers any request document (tools/ask/REQUESTS.md) with its answer document.

    With "only_files": True the answer reads nothing but the texts of "files": for requests of others.
    """
    plain = {name: value if name == "files" else _plain(value, f"request: {name}") for name, value in request.items()}
    return json.loads(_core.ask(json.dumps(plain)))


def schedules() -> List[Dict[str, Any]]:
    """The built-in schedules, each with its options, sizes and source."""
    return ask({"ask": "schedules"})["schedules"]


def networks() -> List[Dict[str, Any]]:
    """The built-in networks."""
    return ask({"ask": "networks"})["networks"]


def clusters() -> List[Dict[str, Any]]:
    """The built-in clusters."""
    return ask({"ask": "clusters"})["clusters"]
