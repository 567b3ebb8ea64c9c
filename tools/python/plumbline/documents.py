"""What the questions answer: documents as objects."""
import csv
import html
import io
import json
from typing import Any, Dict, List, Optional

from . import _core


def _array(column: Any) -> Any:
    """The column itself, not a copy: a numpy array, or a memoryview where numpy is missing. Both keep it alive."""
    view: Any = memoryview(column)
    try:
        import numpy
    except ImportError:
        return view
    return numpy.asarray(view)


class Columns:
    """Arrays of one length, as attributes. They are read-only views of one struct of arrays."""

    def __init__(self, columns: "Dict[str, _core.Column]"):
        self.names = tuple(columns)
        for name, column in columns.items():
            setattr(self, name, _array(column))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no column {name!r}; expected one of {', '.join(self.__dict__.get('names', ()))}")

    def __len__(self) -> int:
        return len(getattr(self, self.names[0]))


class Timeline:
    """One simulated run. Times are whole nanoseconds (`_ns`), memory is bytes, shares are between 0 and 1.

    makespan_ns: from the first start to the last end.
    step_time_ns: time per update.
    bubble_fraction: idle time of all devices, divided by their number and the makespan.
    utilization: useful share of the makespan.
    findings: a line for each device that does not fit in memory.
    notes: lines that the command prints beside its answer.
    """

    def __init__(self, job: "_core.SimulatedJob", has_spans: bool):
        self._job = job
        self._has_spans = has_spans
        self._kept: Dict[str, Columns] = {}
        self.makespan_ns = job.makespan_ns
        self.step_time_ns = job.step_time_ns
        self.bubble_fraction = job.bubble_fraction
        self.bubble_rate = job.bubble_rate
        self.utilization = job.utilization
        self.findings = job.findings
        self.notes = job.notes

    @property
    def fits(self) -> bool:
        """Whether every device fits in its memory."""
        return not self.findings

    @property
    def summary(self) -> Dict[str, Any]:
        """The timeline document without spans and memory curves."""
        return json.loads(self._job.json(True))

    @property
    def devices(self) -> List[Dict[str, Any]]:
        """The figures of each device, as the timeline document names them."""
        return self.summary["devices"]

    @property
    def spans(self) -> Columns:
        """What ran when. Arrays of shape (spans,), by device, then start: device, lane (index into LANES), op (index into
        OPS), stage, microbatch, start_ns, end_ns. A transfer belongs to the device that sends."""
        return self._columns("spans")

    @property
    def memory(self) -> Columns:
        """Memory curves. Arrays of shape (points,), by device, then time: device, time_ns, memory_class (index into
        MEMORY_CLASSES) and bytes, which are alive in that class from then on. Empty for abstract costs: see `stashes`."""
        return self._columns("memory")

    @property
    def stashes(self) -> Columns:
        """What is held over time, where costs are abstract and bytes unknown. Arrays of shape (points,), by device, then
        time: device, time_ns and amount from then on, in activations of one microbatch on 1/p of the model. Otherwise
        empty."""
        return self._columns("stashes")

    def json(self) -> str:
        """The timeline document as `plumbline simulate --json` writes it; a summary if there are no spans."""
        return self._job.json(not self._has_spans)

    def report(self, name: str, *, width: Optional[float] = None, caption: str = "") -> str:
        """The run in one of the report formats: "html", "svg", "csv", "tikz", "pdf" or "trace".

        width: of a picture (svg, pdf, tikz), in cm. caption: stands under it (svg, pdf).
        """
        self._need_spans()
        text = self._job.report(name, width, caption)
        if not isinstance(text, str):
            raise _core.Error(f"the report {name!r} is no text, expected `timeline.{name}()`")
        return text

    def png(self, *, width: Optional[float] = None, caption: str = "") -> bytes:
        """The picture as a PNG file, 300 dots an inch. width: in cm (default: 16). caption: stands under it."""
        self._need_spans()
        picture = self._job.report("png", width, caption)
        assert isinstance(picture, bytes)
        return picture

    def _need_spans(self) -> None:
        if not self._has_spans:
            raise _core.Error("this timeline is a summary, expected one that was simulated with spans=True")

    def _columns(self, name: str) -> Columns:
        self._need_spans()
        if name not in self._kept:
            self._kept[name] = Columns(getattr(self._job, name)())
        return self._kept[name]

    def __repr__(self) -> str:
        return f"<Timeline: step {self.step_time_ns / 1e6:g} ms, bubble {self.bubble_fraction:.2%}>"

    def _repr_svg_(self) -> "str | None":
        return self.report("svg") if self._has_spans else None

    def _repr_html_(self) -> str:
        drawing = self._repr_svg_() or ""
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{drawing}"


class Schedule:
    """A schedule: what every device does, in order. `simulate` and `validate` take it in place of a name."""

    def __init__(self, text: str):
        self.text = text

    @property
    def document(self) -> Dict[str, Any]:
        """The schedule document (JSON)."""
        return json.loads(self.text)

    def __str__(self) -> str:
        return self.text


class Validation:
    """Whether a schedule is valid. True where it is. `violations`: objects with device, position, action, reason."""

    def __init__(self, answer: Dict[str, Any]):
        self.text: str = answer.get("text", "")
        self.findings: List[str] = answer.get("findings", [])
        self.violations: List[Dict[str, Any]] = answer.get("violations", [])

    def __bool__(self) -> bool:
        return not self.findings

    def __repr__(self) -> str:
        return self.text or "\n".join(self.findings)


class Sweep:
    """Many simulations: `rows` has a dictionary of texts for each, named as the columns of `plumbline sweep --csv`."""

    def __init__(self, answer: Dict[str, Any]):
        self.csv: str = answer["csv"]
        self.text: str = answer["text"]
        self.rows: List[Dict[str, str]] = list(csv.DictReader(io.StringIO(self.csv)))

    def column(self, name: str) -> List[float]:
        """The numbers of a column, one for each row; nan where a row has none."""
        if self.rows and name not in self.rows[0]:
            raise _core.Error(f"no column {name!r}; expected one of {', '.join(self.rows[0])}")
        return [float(row[name] or "nan") for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class _Found:
    """What a search has found. True where something fits in memory.

    document: what the command writes with --json; times in ns, memory in bytes.
    schedule: the best schedule, for `simulate` and `convert`; None where nothing fits.
    """

    def __init__(self, part: str, answer: Dict[str, Any]):
        self.document: Dict[str, Any] = answer.get(part, {})
        self.text: str = answer.get("text", "")
        self.findings: List[str] = answer.get("findings", [])
        self.schedule = Schedule(json.dumps(answer["document"])) if answer.get("document") else None

    def __bool__(self) -> bool:
        return self.schedule is not None

    def __repr__(self) -> str:
        return self.text or "\n".join(self.findings)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


class Plan(_Found):
    """The fastest configuration that was found. True where one fits in memory.

    document: what `plumbline plan --json` writes; times in ns, memory in bytes.
    schedule: the schedule of the best plan, for `simulate` and `convert`; None where nothing fits.
    """

    def __init__(self, answer: Dict[str, Any]):
        super().__init__("plan", answer)


class OrderSearch(_Found):
    """The orders that were found, the best first. True where one fits in memory.

    document: what `plumbline search --json` writes; times in ns, memory in bytes.
    schedule: the best order, for `simulate` and `convert`; None where nothing fits.
    """

    def __init__(self, answer: Dict[str, Any]):
        super().__init__("search", answer)

    @property
    def orders(self) -> List[Dict[str, Any]]:
        """A dictionary for each: name, makespan_ns, step_time_ns, bubble_rate, peak_activations, bound_ns, proved."""
        return self.document["orders"]


class Campaign:
    """A job over days, by every rule. `document` is what `plumbline campaign --json` writes, `html` is the page.

    Where an option has several values, `points` has the answers, and there are no `rules`.
    """

    def __init__(self, answer: Dict[str, Any]):
        self.document: Dict[str, Any] = answer["campaign"]
        self.text: str = answer["text"]
        self.html: str = answer["html"]

    @property
    def rules(self) -> List[Dict[str, Any]]:
        """A dictionary for each rule, the best first: `rule`, and `runs` with samples, goodput, cost and time_ns."""
        return self.document.get("rules", [])

    @property
    def points(self) -> List[Dict[str, Any]]:
        """A dictionary for each value of the option that has several: `value`, and `campaign`, a document of its own."""
        return self.document.get("points", [])

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class TracedRun:
    """A real run, read from the traces of its ranks. `compare` takes it as a run, `simulate` as profile.

    document: the timeline document of the step that is shown; times in ns.
    profile: what its stages and messages took, the document that `plumbline trace --profile` writes.
    schedule: the schedule of the catalogue with the same order of passes, or an empty text.
    """

    def __init__(self, answer: Dict[str, Any]):
        self.document: Dict[str, Any] = answer["timeline"]
        self.profile: Dict[str, Any] = answer["profile"]
        self.schedule: str = answer["schedule"]
        self.text: str = answer["text"]

    def json(self) -> str:
        """The timeline document as `plumbline trace -o` writes it."""
        return json.dumps(self.document)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class Comparison:
    """Two runs, action by action. True unless a bound is broken. `document` has all figures, `html` is the page."""

    def __init__(self, answer: Dict[str, Any]):
        self.document: Dict[str, Any] = answer["comparison"]
        self.text: str = answer["text"]
        self.html: str = answer["html"]
        self.findings: List[str] = answer.get("findings", [])
        self._status: int = answer["status"]

    def __bool__(self) -> bool:
        return self._status == 0

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"
