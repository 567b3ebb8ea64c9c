"""What the runs came to: means with 95 % intervals, tables and diagrams."""
import math

import study_tools as tools

# 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom; beyond them 1.96 is close enough.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
           2.120, 2.110, 2.101, 2.093, 2.086]
COLOURS = 12


class Mean:
    """A mean over seeds with the half width of its 95 % interval, none for fewer than two values."""

    def __init__(self, values):
        self.count = len(values)
        self.mean = tools.total(values) / len(values)
        self.half_width = None
        if len(values) > 1:
            squares = tools.total((value - self.mean) * (value - self.mean) for value in values)
            t = STUDENT[len(values) - 2] if len(values) - 2 < len(STUDENT) else 1.96
            self.half_width = t * math.sqrt(squares / (len(values) - 1) / len(values))

    def text(self, unit=1, digits=4):
        """0.951 ± 0.004"""
        text = tools.fixed(self.mean * unit, digits)
        return text if self.half_width is None else text + " ± " + tools.fixed(self.half_width * unit, digits)

    @property
    def json(self):
        return {"mean": self.mean, "half_width": self.half_width, "count": self.count}


def mean(values):
    return Mean(values) if values else None


def quality_text(task, of):
    """Accuracy in percent, or loss."""
    if of is None:
        return "-"
    return of.text(100, 2) if task.by_accuracy else of.text()


def quality_title(task):
    return "accuracy, %" if task.by_accuracy else "loss"


def updates_to_target(task, run):
    """On a straight line between the evaluations before and after, whose distance would be all of a small difference."""
    before = None
    for point in run.points:
        quality = task.quality(point)
        if quality >= task.target if task.by_accuracy else quality <= task.target:
            if before is None:
                return float(point.update)
            start = task.quality(before)
            return before.update + (point.update - before.update) * (task.target - start) / (quality - start)
        before = point
    return None


class Figures:
    """What the runs of one method on one task came to at one setting."""

    def __init__(self, study, task, method, setting):
        self.task, self.method, self.setting = task, method, setting
        self.bracketed = False
        self.diverged = self.failed = 0
        runs = study.at(task, method, setting)
        self.runs = len(runs)
        seconds, targets, quality, loss, bleu, gap = [], [], [], [], [], []
        first_rate = study.best_rate(task, study.first)
        compared = []
        if first_rate is not None and method is not study.first:
            compared = study.at(task, study.first, study.first.rule(task, first_rate))
        for run in runs:
            if run.error:
                self.failed += 1
                continue
            seconds.append(run.seconds)
            reached = updates_to_target(task, run)
            if reached is not None:
                targets.append(reached)
            if run.has_diverged(task):
                self.diverged += 1
                continue
            last = run.points[-1]
            quality.append(task.quality(last))
            loss += [last.loss] if last.loss is not None else []
            bleu += [last.bleu] if last.bleu is not None else []
            same = next((other for other in compared if other.seed == run.seed), None)
            if same is not None and not same.error and not same.has_diverged(task):
                better = task.quality(same.points[-1]) - quality[-1]
                gap.append(better if task.by_accuracy else -better)
        self.quality, self.loss, self.bleu = mean(quality), mean(loss), mean(bleu)
        self.gap, self.to_target, self.seconds = mean(gap), mean(targets), mean(seconds)

    @property
    def mostly_reached(self):
        return self.to_target is not None and 2 * self.to_target.count > self.runs

    @property
    def target_text(self):
        if self.to_target is None:
            return "never"
        text = tools.fixed(self.to_target.mean, 0)
        return text if self.to_target.count == self.runs else f"{text} ({self.to_target.count} of {self.runs})"

    def cells(self):
        task = self.task
        error, other = "-", "-"
        if self.quality is not None and task.held_out:
            share = self.quality.mean
            error = tools.fixed(100 * math.sqrt(share * (1 - share) / task.held_out), 2)
        if self.bleu is not None:
            other = self.bleu.text(100, 2)
        elif not task.by_accuracy and self.quality is not None:
            other = tools.fixed(math.exp(self.quality.mean), 2)
        return [self.method.title, self.setting.rate + ("" if self.bracketed else " (edge)"), str(self.runs),
                quality_text(task, self.quality), error, other, quality_text(task, self.gap), self.target_text,
                f"{self.diverged} of {self.runs}" + (f", {self.failed} failed" if self.failed else ""),
                "-" if self.seconds is None else tools.fixed(self.seconds.mean, 1)]


def best_figures(study, task):
    """Every method at its best rate on the task, K and D by the rule; without those that have no runs."""
    figures = []
    for method in study.methods:
        rate = study.best_rate(task, method)
        if rate is not None:
            figures.append(Figures(study, task, method, method.rule(task, rate)))
            figures[-1].bracketed = study.is_bracketed(task, method)
    return figures


def figures_of(figures, name):
    return next((of for of in figures if of.method.name == name), None)


def stable_rates(study, task, method):
    """The highest rate at which no run diverged and below which none did, and the lowest at which one did, of those
    tried with K and D by the rule."""
    highest = None
    for rate in task.all_rates:
        runs = [run for run in study.at(task, method, method.rule(task, rate)) if not run.error]
        if any(run.has_diverged(task) for run in runs):
            return highest, rate
        if runs:
            highest = rate
    return highest, None


def heads(study, task):
    target = tools.number_text(100 * task.target if task.by_accuracy else task.target)
    return ["method", "best rate", "seeds", quality_title(task), "standard error",
            "BLEU" if task.by_accuracy else "perplexity",
            "behind " + study.first.title + (", points" if task.by_accuracy else ""),
            "updates to " + target + (" %" if task.by_accuracy else ""), "diverged", "s per run"]


RIGHT = [False] + [True] * 9


def text(study):
    """A table per task, every method at its best rate."""
    tables = []
    for task in study.tasks:
        figures = best_figures(study, task)
        if figures:
            tables.append(task.title + (f": {task.note}" if task.note else "") + "\n" +
                          tools.columns(heads(study, task), [of.cells() for of in figures], RIGHT))
    failed = [f"{run.task}, {run.method}, rate {run.setting.rate}, seed {run.seed}: {run.error}\n"
              for run in study.runs if run.error]
    return "\n".join(tables) + "".join(failed)


def training_page(study):
    """The same as Markdown, with the command of every method."""
    page = ""
    for task in study.tasks:
        figures = best_figures(study, task)
        if not figures:
            continue
        commands = [f"plumbline {of.method.command(task, of.setting)} --seed 0\n" for of in figures]
        page += (f"### {task.title}" + (f": {task.note}" if task.note else "") + "\n\n" +
                 tools.markdown(heads(study, task), [of.cells() for of in figures], RIGHT) +
                 "\n```\n" + "".join(commands) + "```\n\n")
    return page


def document(study):
    """Means, intervals and gaps, for JSON."""
    json = lambda of: None if of is None else of.json
    tasks = []
    for task in study.tasks:
        methods = [{"name": of.method.name, "title": of.method.title, "command": of.method.command(task, of.setting),
                    "rate": of.setting.rate, "bracketed": of.bracketed, "runs": of.runs, "diverged": of.diverged,
                    "failed": of.failed, "quality": json(of.quality), "loss": json(of.loss), "bleu": json(of.bleu),
                    "gap": json(of.gap), "updates_to_target": json(of.to_target), "seconds": json(of.seconds)}
                   for of in best_figures(study, task)]
        tasks.append({"name": task.name, "title": task.title, "quality": "accuracy" if task.by_accuracy else "loss",
                      "target": task.target, "methods": methods})
    return {"tasks": tasks}


def _style(place):
    """Colour of the method at that place. Where colours come again, dashed, that of the first one is left out, which is
    dashed itself."""
    again = place >= COLOURS
    return {"colour": 1 + (place - COLOURS) % (COLOURS - 1) if again else place, "dashed": place == 0 or again}


def _note(task, text):
    return (task.note + "; " if task.note else "") + text


def _curves(study, task, value, most):
    """A line per method at its best rate: mean and band of `value` over the seeds, by updates done."""
    lines = []
    for place, method in enumerate(study.methods):
        rate = study.best_rate(task, method)
        values = {}
        for run in study.at(task, method, method.rule(task, rate)) if rate is not None else []:
            for point in run.points:
                if math.isfinite(value(point)):
                    values.setdefault(point.update, []).append(value(point))
        if not values:
            continue
        means = [(update, Mean(seeds)) for update, seeds in sorted(values.items())]
        half = lambda of: of.half_width or 0.0
        lines.append({"name": method.title, **_style(place), "x": [update for update, _ in means],
                      "y": [of.mean for _, of in means], "low": [max(of.mean - half(of), 0.0) for _, of in means],
                      "high": [min(of.mean + half(of), most) for _, of in means]})
    return lines


def quality_plot(study, task):
    """Quality by updates done: the mean over seeds, with its 95 % interval as a band."""
    unit = 100 if task.by_accuracy else 1
    return {"title": task.title,
            "note": _note(task, "every method at its best rate, mean over seeds with 95 % interval"),
            "x": {"title": "updates"}, "y": {"title": quality_title(task)},
            "series": _curves(study, task, lambda point: unit * task.quality(point),
                              100 if task.by_accuracy else math.inf)}


def loss_plot(study, task):
    """Training loss by updates done, of runs that diverge, too."""
    series = _curves(study, task, lambda point: point.train_loss, math.inf)
    for line in series:
        del line["low"], line["high"]
    return {"title": task.title, "note": _note(task, "every method at its best rate, mean over seeds"),
            "x": {"title": "updates"}, "y": {"title": "training loss", "logarithmic": True}, "series": series}


def rates_plot(study, task):
    """Held-out loss at the end over the learning rate, a line per method (mean over seeds, K and D by the rule)."""
    loss = lambda point: point.train_loss if point.loss is None else point.loss
    series = []
    for place, method in enumerate(study.methods):
        points = []
        for rate in task.all_rates:
            ends = [loss(run.points[-1]) for run in study.at(task, method, method.rule(task, rate)) if run.points]
            ends = [value for value in ends if math.isfinite(value)]
            if ends:
                points.append((float(rate), Mean(ends).mean))
        if points:
            series.append({"name": method.title, **_style(place), "points": True, "x": [x for x, _ in points],
                           "y": [y for _, y in points]})
    return {"title": task.title, "note": _note(task, "at the end, mean over seeds"),
            "x": {"title": "learning rate", "logarithmic": True}, "y": {"title": "held-out loss", "logarithmic": True},
            "series": series}
