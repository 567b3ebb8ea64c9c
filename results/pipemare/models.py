"""The model part: utilization and memory of asynchronous pipelines by the paper's formulas and simulated.

P stages, N microbatches per update. In slots every stage runs a forward and a backward at once, so stage i (from 0) has
2 (P - 1 - i) + 1 microbatches between a microbatch's forward and its backward.
"""
from concurrent.futures import ThreadPoolExecutor

import plumbline
import study_tools as tools

PUBLISHED_STAGES = 107  # the published factors are those of ResNet-50 with one stage per weight-carrying layer
COPIES = 3  # of SGD: weight, gradient, momentum
BYTES = 4  # of a parameter
SLOTS = "timing=slots"
HEAD = ["figure", "formula", "simulated", "published"]


def utilization_gain(stages, microbatches):
    """How much more a pipeline that never flushes is used than GPipe."""
    return (microbatches + stages - 1) / microbatches


def amortised_gain(stages, microbatches, synchronous):
    """Likewise when a share of the epochs runs flushed (T3): 1 / (q + (1 - q) u), u that of GPipe."""
    return 1 / (synchronous + (1 - synchronous) / utilization_gain(stages, microbatches))


def _weighted(parameters, value):
    stages = len(parameters)
    return (tools.total(count * value(2 * (stages - 1 - i) + 1) for i, count in enumerate(parameters)) /
            sum(parameters))


def weighted_delay(parameters, microbatches):
    """The mean delay of the stages, weighted by their parameters."""
    return _weighted(parameters, lambda distance: distance / microbatches)


def weighted_versions(parameters, microbatches):
    """The same with whole versions, ceil of every delay."""
    return _weighted(parameters, lambda distance: float(-(-distance // microbatches)))


def pipedream_memory(delay, copies):
    """Weights, gradients and optimizer state of PipeDream over those of one model: (c - 1 + A) / c."""
    return (copies - 1 + delay) / copies


def recomputed_activations(stages, segment):
    """Stashes that the whole pipeline keeps in slots when segments of so many stages keep their input only and run their
    forwards again so late that every stage is ready when its backward comes: inputs, and replayed microbatches."""
    count = 0
    for begin in range(0, stages, segment):
        length = min(segment, stages - begin)
        count += 2 * (stages - 1 - begin) + 1
        if length > 1:
            count += length * length
    return count


def best_segment(stages):
    return min(range(1, stages + 1), key=lambda segment: recomputed_activations(stages, segment))


def simulated(schedule, stages, microbatches, *options):
    """Forward and backward take equally long."""
    return plumbline.simulate(schedule, devices=stages, microbatches=microbatches, opt=list(options), cost="F=1,B=1",
                              spans=False)


def utilization(schedule, stages, microbatches, *options):
    return simulated(schedule, stages, microbatches, *options).utilization


def activations(stages, *options):
    """Stashes of one stage and microbatch that all stages of PipeMare keep at their peaks, N = 8."""
    run = simulated("pipemare", stages, 8, SLOTS, *options)
    return tools.total(device["peak_activations"] for device in run.devices)


def most_activations(schedule, stages, microbatches, *options):
    """Those that the fullest device keeps."""
    run = simulated(schedule, stages, microbatches, *options)
    return float(max(device["peak_activations"] for device in run.devices))


def gain(stages, microbatches):
    return utilization("pipemare", stages, microbatches, SLOTS) / utilization("gpipe", stages, microbatches)


def weight_bytes(summary, optimizer_copies):
    """Bytes of weights, their versions and corrections, gradients and optimizer state of all stages, of a run whose
    optimizer state is that of Adam (two copies)."""
    sums = {name: sum(device["peak_memory_by_class"][name] for device in summary["devices"])
            for name in ("weights", "gradients", "optimizer")}
    weights = sum(stage["bytes"] for stage in summary["delays"]) if summary.get("delays") else sums["weights"]
    return weights + sums["gradients"] + sums["optimizer"] * optimizer_copies // 2


class Network:
    """A network in single precision with a stage per layer that has weights."""

    def __init__(self, name):
        self.name = name
        self.stages = self._most_stages()
        devices = self.simulate("gpipe", 8)["devices"]
        self.parameters = [device["peak_memory_by_class"]["weights"] // BYTES for device in devices]
        self.size = BYTES * COPIES * sum(self.parameters)

    def simulate(self, schedule, microbatches, *options, stages=None):
        stages = stages or self.stages
        run = plumbline.simulate(schedule, devices=stages, microbatches=microbatches, opt=list(options),
                                 network=self.name, partition="finest", precision="single",
                                 cluster=f"a100-{-(-stages // 8)}x8", spans=False)
        return run.summary

    def memory(self, schedule, microbatches, *options):
        """Weights, gradients and momentum over those of one model."""
        return weight_bytes(self.simulate(schedule, microbatches, *options), COPIES - 2) / self.size

    def _most_stages(self):
        """The finest partition has so many."""
        least, most = 1, 4096
        while least < most:
            middle = (least + most + 1) // 2
            try:
                self.simulate("gpipe", 1, stages=middle)
                least = middle
            except plumbline.Error as error:
                if "finest" not in str(error):
                    raise
                most = middle - 1
        return least


def _line(name, colour, x, value, **style):
    """A line of a plot: `value` of all x, several at once."""
    with ThreadPoolExecutor() as pool:
        return {"name": name, "colour": colour, "x": x, "y": list(pool.map(value, x)), **style}


def _dots(name, colour, x, value):
    """What a formula's line is checked with: simulated values as dots on it."""
    return _line(name, colour, x, value, points=True, line=False)


MICROBATCHES = [4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64]


class Models:
    """Figures by formula, simulated and published, and plots by name. Layer sizes are those of a real network."""

    def __init__(self, network):
        self.network = Network(network)
        self.figures, self.plots = [], {}
        self._utilization()
        self._utilization_by_stages()
        self._memory()
        self._activations()

    def _figure(self, name, what, formula, simulated=None, published=None, source=""):
        if self.network.stages != PUBLISHED_STAGES:
            published = None
        self.figures.append({"name": name, "what": what, "formula": formula, "simulated": simulated,
                             "published": published, "source": source})

    def _plot(self, name, title, note, x, y, series, marks=()):
        if self.network.stages != PUBLISHED_STAGES:
            marks = ()
        self.plots[name] = {"title": title, "note": note, "x": x, "y": y, "series": series,
                            "marks": [{"x": x, "y": y, "text": text} for x, y, text in marks]}

    def _utilization(self):
        stages, marks = self.network.stages, []
        for n, published, source in ((8, 14.3, "MLSys abstract"), (16, 7.6, "later full text, by a summary"),
                                     (32, 4.3, "arXiv v2 abstract")):
            formula = utilization_gain(stages, n)
            self._figure(f"utilization-n{n}", f"utilization over GPipe, P = {stages}, N = {n}", formula,
                         gain(stages, n), published, source)
            marks.append((n, formula, f"{tools.number_text(published)}x ({source})"))
        amortised = amortised_gain(stages, 16, 0.1)
        self._figure("utilization-t3", "the same with a tenth of the epochs synchronous, N = 16", amortised, None, 4.6,
                     "later full text, by a summary")
        marks.append((16, amortised, "4.6x (T3, a tenth of the epochs; by a summary)"))
        self._plot("utilization", f"Pipeline utilization over GPipe, {stages} stages",
                   "(N + P - 1) / N; marks: published factors at the N that gives them (N is not published beside them)",
                   {"title": "microbatches per update N", "logarithmic": True},
                   {"title": "utilization over GPipe", "logarithmic": True},
                   [_line("formula", 0, MICROBATCHES, lambda n: utilization_gain(stages, n)),
                    _dots("simulated", 1, [4, 8, 16, 32, 64], lambda n: gain(stages, n))], marks)

    def _utilization_by_stages(self):
        series = []
        for colour, n in enumerate((8, 16, 32, 64)):
            series.append(_line(f"N = {n}", colour, list(range(2, 215, 4)), lambda p: utilization_gain(p, n)))
            series.append(_dots(f"N = {n}, simulated", colour, [8, 47, 107, 214], lambda p: gain(p, n)))
        self._plot("utilization-stages", "Pipeline utilization over GPipe by number of stages",
                   "(N + P - 1) / N; dots: simulated", {"title": "stages P"}, {"title": "utilization over GPipe"}, series)

    def _memory(self):
        network = self.network
        stages, parameters = network.stages, network.parameters
        pipedream = lambda n: pipedream_memory(weighted_delay(parameters, n), COPIES)
        versions = lambda n: pipedream_memory(weighted_versions(parameters, n), COPIES)
        newest = lambda n: versions(n) + 1 / COPIES
        measured = lambda n: network.memory("pipedream", n, SLOTS)
        mib = 2**20
        self._figure("parameters", f"parameters of {network.name} in {stages} stages", float(sum(parameters)))
        self._figure("memory-base", "weights, gradients and momentum of one model, MiB", network.size / mib,
                     network.memory("gpipe", 8) * network.size / mib)
        self._figure("weighted-delay", "delay of PipeDream's stash, weighted by parameters, N = 8",
                     weighted_delay(parameters, 8))
        self._figure("memory-pipedream", "PipeDream over GPipe, N = 8, mean delays", pipedream(8), None, 2.7,
                     "arXiv v2 abstract")
        self._figure("memory-pipedream-whole", "the same with whole versions, the newest apart", versions(8))
        self._figure("memory-pipedream-newest",
                     "the same with whole versions and the newest, which a later forward reads", newest(8), measured(8))
        self._figure("memory-t1", "PipeMare with T1 over GPipe", 1.0, network.memory("pipemare", 8, SLOTS))
        self._figure("memory-t2", "PipeMare with T1 and T2 over GPipe", (COPIES + 1) / COPIES,
                     network.memory("pipemare", 8, SLOTS, "correction=t2"))
        self._figure("memory-pipedream-t2", "PipeDream over PipeMare with T2, N = 8, mean delays",
                     pipedream(8) * COPIES / (COPIES + 1), None, 2.0, "arXiv v1 abstract")
        self._plot("memory", "Weights, gradients and optimizer state over GPipe",
                   f"{network.name}, {stages} stages, SGD with momentum; marks: published factors",
                   {"title": "microbatches per update N", "logarithmic": True}, {"title": "memory over GPipe"},
                   [_line("PipeDream, mean delays", 1, MICROBATCHES, pipedream),
                    _line("PipeDream, whole versions and the newest", 3, MICROBATCHES, newest),
                    _dots("PipeDream, simulated", 3, [4, 8, 16, 32, 64], measured),
                    _line("PipeMare T1 + T2", 4, MICROBATCHES, lambda _: (COPIES + 1) / COPIES),
                    _line("GPipe, PipeMare T1", 0, MICROBATCHES, lambda _: 1.0)],
                   [(8, pipedream(8), "2.7x over T1 (v2 abstract), 2.0x over T1 + T2 (v1 abstract)")])

    def _activations(self):
        best = lambda p: recomputed_activations(p, best_segment(p))
        in_segments = lambda p: activations(p, f"segment={best_segment(p)}")
        stages, marks = list(range(7, 215, 3)), []
        for p in (93, 107):
            ratio = best(p) / p**2
            self._figure(f"activations-p{p}",
                         f"activations with recompute over without, P = {p}, segments of {best_segment(p)}", ratio,
                         in_segments(p) / activations(p))
            marks.append((p, best(p), f"P = {p}: {ratio:.3f}"))
        self._figure("activations-p107-stashed", "activations without recompute, P = 107", 107.0**2, activations(107))
        self._plot("activations", "Activations kept by the whole pipeline, in slots",
                   "stashes of one stage and microbatch; recompute in segments of the best length",
                   {"title": "stages P"}, {"title": "stashes", "logarithmic": True},
                   [_line("stashed: P^2", 1, stages, lambda p: p**2),
                    _dots("stashed, simulated (both of a pair)", 1, [8, 47, 93, 107, 150, 214], activations),
                    _line("GPipe, N = 8", 5, stages, lambda p: 8 * p),
                    _line("recompute, counted by slots", 0, stages, best),
                    _dots("recompute, simulated", 0, [16, 47, 93, 107, 150, 214], in_segments),
                    _line("2 P^(3/2)", 4, stages, lambda p: 2 * p**1.5, dashed=True)], marks)

    def figure(self, name):
        return next((figure for figure in self.figures if figure["name"] == name), None)

    def rows(self):
        value = lambda number, digits=6: "" if number is None else tools.number_text(number, digits)
        return [[of["what"], value(of["formula"], 10 if of["formula"] > 1e6 else 6), value(of["simulated"]),
                 "" if of["published"] is None else f"{value(of['published'], 4)} ({of['source']})"]
                for of in self.figures]

    def text(self):
        return tools.columns(HEAD, self.rows(), [False, True, True, False])

    def page(self):
        return tools.markdown(HEAD, self.rows(), [False, True, True, False])

    def document(self):
        keys = ("name", "what", "formula", "simulated", "published", "source")
        return [{key: of[key] for key in keys if of[key] is not None and (key != "source" or of["published"])}
                for of in self.figures]
