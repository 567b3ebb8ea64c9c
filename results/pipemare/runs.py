"""The study as a document, its runs, and which of them are still to be done (README.md says what the document means)."""
import json
import math
import subprocess
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import NamedTuple

import study_tools as tools

HEADER = "task,method,rate,K,D,seed,command,seconds,update,train_loss,loss,accuracy,bleu"
TASK_KEYS = {"name", "title", "note", "arguments", "words", "rates", "further_rates", "K", "D", "quality", "target",
             "chance", "held_out", "clusters", "seeds", "grid_seeds"}
METHOD_KEYS = {"name", "title", "arguments", "words", "tasks"}


class Setting(NamedTuple):
    """What of a method is varied on a task. Empty where its command does not use it."""
    rate: str
    k: str = ""
    d: str = ""


class Task:
    """Something to learn, and how: options of `train` that all methods share."""

    def __init__(self, row):
        _allow_only(row, TASK_KEYS, "task")
        self.name = row["name"]
        self.title = row.get("title", self.name)
        self.note = row.get("note", "")
        self.arguments = row["arguments"]
        self.words = row.get("words", {})
        self.rates = _numbers(row, "rates")
        if not self.rates or self.rates != sorted(self.rates, key=float):
            raise tools.WrongInput(f"task '{self.name}': rates: expected ascending learning rates, at least one")
        self.all_rates = sorted({*self.rates, *_numbers(row, "further_rates")}, key=float)
        self.k, self.d = _numbers(row, "K"), _numbers(row, "D")
        if row["quality"] not in ("accuracy", "loss"):
            raise tools.WrongInput(f"task '{self.name}': quality: expected accuracy or loss, found {row['quality']}")
        self.by_accuracy = row["quality"] == "accuracy"
        self.target, self.chance = row["target"], row["chance"]
        self.held_out = row.get("held_out", 0)
        self.clusters = row.get("clusters", [])
        self.seeds, self.grid_seeds = row.get("seeds"), row.get("grid_seeds")

    def quality(self, point):
        """Accuracy, or loss (the held-out one where there is one)."""
        if self.by_accuracy:
            return point.accuracy or 0.0
        return point.train_loss if point.loss is None else point.loss


class Method:
    """A way to train: a schedule and its options."""

    def __init__(self, row):
        _allow_only(row, METHOD_KEYS, "method")
        self.name = row["name"]
        self.title = row.get("title", self.name)
        self.arguments = row["arguments"]
        self.words = row.get("words", {})
        self.tasks = row.get("tasks", [])

    def is_tried_on(self, task):
        return not self.tasks or task.name in self.tasks

    def rule(self, task, rate):
        """At a rate, with K and D by the paper's rule where it uses them."""
        return Setting(rate, task.k[0] if "{K}" in self.arguments and task.k else "",
                       task.d[0] if "{D}" in self.arguments and task.d else "")

    def others(self, task, rate):
        """At the same rate with every other K, then every other D."""
        rule = self.rule(task, rate)
        return ([Setting(rate, k, rule.d) for k in task.k[1:] if rule.k] +
                [Setting(rate, rule.k, d) for d in task.d[1:] if rule.d])

    def command(self, task, setting):
        """The `train` command of a run, without its seed."""
        meanings = {**task.words, **self.words, "rate": setting.rate}
        meanings.update({word: text for word, text in (("K", setting.k), ("D", setting.d)) if text})
        pieces = (self.arguments + " " + task.arguments).split("{")
        text = pieces[0]
        for piece in pieces[1:]:
            word, rest = piece.split("}", 1)
            if word not in meanings:
                raise tools.WrongInput(f"study: method '{self.name}' on task '{task.name}' says {{{word}}}, expected it "
                                       "among the words of one of them")
            text += meanings[word] + rest
        return "train " + text


class Point(NamedTuple):
    """A moment of a run: updates done, mean training loss since the point before, and held-out figures."""
    update: int
    train_loss: float
    loss: float = None
    accuracy: float = None
    bleu: float = None


class Run(NamedTuple):
    task: str
    method: str
    setting: Setting
    seed: int
    mark: str
    seconds: float
    points: list
    error: str = ""

    def has_diverged(self, task):
        """A loss is no number, or the run ends worse than it began, or no better than chance."""
        points = self.points
        if not points or not all(math.isfinite(point.train_loss) for point in points):
            return True
        first, last = task.quality(points[0]), task.quality(points[-1])
        if points[-1].train_loss > points[0].train_loss or not math.isfinite(last):
            return True
        return last <= task.chance if task.by_accuracy else last >= task.chance or last > first


class Planned(NamedTuple):
    task: Task
    method: Method
    setting: Setting
    seed: int

    @property
    def key(self):
        return self.task.name, self.method.name, self.setting, self.seed


def _allow_only(row, keys, what):
    unknown = sorted(set(row) - keys)
    if unknown:
        raise tools.WrongInput(f"study: {what} '{row.get('name')}': unknown key '{unknown[0]}', expected one of "
                               f"{', '.join(sorted(keys))}")


def _numbers(row, key):
    """Numbers above 0 as texts, which commands and tables repeat as they are."""
    for text in row.get(key, []):
        try:
            right = float(text) > 0 and "," not in text
        except (TypeError, ValueError):
            right = False
        if not right:
            raise tools.WrongInput(f"study: '{row['name']}': {key}: '{text}': expected a number above 0, as text")
    return row.get(key, [])


def mark_of(command):
    """Short mark of a command (FNV-1a): other options, another mark."""
    value = 2166136261
    for byte in command.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return f"{value:08x}"


class Study:
    """Methods x tasks x learning rates x seeds, with the runs that are there. The first method is what the others are
    compared with."""

    def __init__(self, document, runs=()):
        if document.get("format") != "plumbline-study" or document.get("version") != 2:
            raise tools.WrongInput("study: expected the format plumbline-study, version 2")
        self.seeds, self.grid_seeds = document["seeds"], document["grid_seeds"]
        self.tasks = [Task(row) for row in document["tasks"]]
        self.methods = [Method(row) for row in document["methods"]]
        for rows in (self.tasks, self.methods):
            names = [row.name for row in rows]
            if not names or len(set(names)) < len(names) or any("," in name or "\n" in name for name in names):
                raise tools.WrongInput("study: tasks and methods: expected distinct names without comma, at least one")
        if self.first.tasks:
            raise tools.WrongInput("study: the first method is what others are compared with, expected it on all tasks")
        self.set_runs(runs)

    @property
    def first(self):
        return self.methods[0]

    def set_runs(self, runs):
        """Sorts the runs by task, method, rate, K, D and seed."""
        self.tasks_by_name = {task.name: task for task in self.tasks}
        places = [{row.name: i for i, row in enumerate(rows)} for rows in (self.tasks, self.methods)]
        number = lambda text: float(text) if text else 0.0
        self.runs = sorted(runs, key=lambda run: (places[0][run.task], places[1][run.method], number(run.setting.rate),
                                                  number(run.setting.k), number(run.setting.d), run.seed))
        self._at, self._best = {}, {}
        for run in self.runs:
            self._at.setdefault((run.task, run.method, run.setting), []).append(run)

    def at(self, task, method, setting):
        return self._at.get((task.name, method.name, setting), [])

    def has_runs(self, task):
        return any(run.task == task.name for run in self.runs)

    def is_run_of(self, run):
        """Whether a run's command is that of the study as it is now."""
        task = self.tasks_by_name.get(run.task)
        method = next((method for method in self.methods if method.name == run.method), None)
        return (task is not None and method is not None and method.is_tried_on(task) and
                run.mark == mark_of(method.command(task, run.setting)))

    def _score(self, task, method, rate):
        """Mean over the seeds, smaller is better; none without runs."""
        scores = []
        for run in self.at(task, method, method.rule(task, rate)):
            if run.error or run.has_diverged(task):
                scores.append((0.0 if task.by_accuracy else 1e9, 1e9))
                continue
            last = run.points[-1]
            quality = task.quality(last)
            scores.append((-quality if task.by_accuracy else quality,
                           last.train_loss if last.loss is None else last.loss))
        if scores:
            return tuple(tools.total(score[i] for score in scores) / len(scores) for i in (0, 1))

    def tried(self, task, method):
        return [rate for rate in task.all_rates if self.at(task, method, method.rule(task, rate))]

    def best_rate(self, task, method):
        """The rate at which a method does best, of those with runs: by the mean quality over the seeds, where diverged
        runs count as the worst; of equal ones the one with the lower held-out loss. None without runs."""
        key = task.name, method.name
        if key not in self._best:
            scores = [(self._score(task, method, rate), i) for i, rate in enumerate(task.all_rates)]
            known = [score for score in scores if score[0] is not None]
            self._best[key] = task.all_rates[min(known)[1]] if known else None
        return self._best[key]

    def is_bracketed(self, task, method):
        """Whether the best rate has tried neighbours on both sides."""
        tried, best = self.tried(task, method), self.best_rate(task, method)
        return best is not None and tried[0] != best != tried[-1]

    def planned(self, tasks=(), methods=(), seeds=None):
        """The runs that are still to be done as far as the runs let us know, the most valuable first (README.md)."""
        steps = [[] for _ in range(5)]
        for task in self.tasks:
            if tasks and task.name not in tasks:
                continue
            of_task = [[] for _ in range(5)]
            for method in self.methods:
                if (not methods or method.name in methods) and method.is_tried_on(task):
                    self._plan(task, method, of_task)
            order = _from_the_middle(task.rates)
            place = lambda run: order.index(run.setting.rate) if run.setting.rate in order else len(order)
            of_task[0].sort(key=place)  # all methods at one rate before the next one
            for step, runs in zip(steps, of_task):
                step += sorted(runs, key=lambda run: run.seed)
        return [run for step in steps for run in step if seeds is None or run.seed < seeds]

    def _plan(self, task, method, steps):
        seeds = self.seeds if task.seeds is None else task.seeds
        grid_seeds = self.grid_seeds if task.grid_seeds is None else task.grid_seeds

        def want(step, setting, seed):
            if any(run.seed == seed for run in self.at(task, method, setting)):
                return False
            steps[step].append(Planned(task, method, setting, seed))
            return True

        if any([want(0, method.rule(task, rate), 0) for rate in _from_the_middle(task.rates)]):
            return
        tried, best = self.tried(task, method), self.best_rate(task, method)
        at, rates = task.all_rates.index(best), task.all_rates
        beyond = at - 1 if best == tried[0] and at > 0 else at + 1 if best == tried[-1] and at + 1 < len(rates) else None
        if beyond is not None:
            want(0, method.rule(task, rates[beyond]), 0)
            return
        for seed in range(1, min(3, seeds)):
            want(1, method.rule(task, best), seed)
        for rate in tried:
            for seed in range(1, grid_seeds if rate != best else 0):
                want(2, method.rule(task, rate), seed)
        for seed in range(3, seeds):
            want(3, method.rule(task, best), seed)
        for setting in method.others(task, best):
            for seed in range(grid_seeds):
                want(4, setting, seed)


def _from_the_middle(rates):
    """The middle of a list first, then its neighbours, outwards."""
    middle = len(rates) // 2
    return sorted(rates, key=lambda rate: (abs(rates.index(rate) - middle), rates.index(rate)))


def _figure(value):
    if value is None:
        return ""
    return tools.number_text(value, 6) if math.isfinite(value) else "nan"


def runs_csv(runs):
    """One row per point; runs with an error have none."""
    lines = [HEADER]
    for run in runs:
        begin = [run.task, run.method, *run.setting, str(run.seed), run.mark, tools.fixed(run.seconds, 1)]
        for point in run.points:
            lines.append(",".join([*begin, str(point.update), *map(_figure, point[1:])]))
    return "\n".join(lines) + "\n"


def read_runs(text, name):
    lines = text.split("\n")
    if lines[0] != HEADER:
        raise tools.WrongInput(f"{name}:1: expected the columns {HEADER}")
    runs = []
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        cells = line.split(",")
        if len(cells) != 13:
            raise tools.WrongInput(f"{name}:{number}: expected 13 columns")
        run = Run(cells[0], cells[1], Setting(*cells[2:5]), int(cells[5]), cells[6], float(cells[7]), [])
        if not runs or runs[-1][:5] != run[:5]:
            runs.append(run)
        figures = [float(cell) if cell else None for cell in cells[9:]]
        runs[-1].points.append(Point(int(cells[8]), *figures))
    return runs


def points_of(training):
    """At every evaluation; without any, at 20 equal distances. `training`: what `train --json` says of it."""
    number = lambda value: math.nan if value is None else value  # JSON has no other word for what is no number
    losses = list(map(number, training["losses"]))
    moments = [(each["updates"], number(each["loss"]), number(each["accuracy"])) for each in training["evaluations"]]
    moments = moments or [(len(losses) * k // 20, None, None) for k in range(1, 21)]
    points = []
    for update, loss, accuracy in moments:
        begin = points[-1].update if points else 0
        if update > begin:
            points.append(Point(update, tools.total(losses[begin:update]) / (update - begin), loss, accuracy))
    if points and "translation" in training:
        points[-1] = points[-1]._replace(bleu=training["translation"]["bleu"])
    return points


def train_one(planned):
    """Trains by the program, which writes what it found as JSON."""
    command = planned.method.command(planned.task, planned.setting)
    start = time.monotonic()
    done = subprocess.run([tools.PROGRAM, *command.split(), "--seed", str(planned.seed), "--summary", "--json", "-"],
                          capture_output=True, text=True)
    points, error = [], ""
    if done.returncode == 0:
        points = points_of(json.loads(done.stdout)["training"])
    else:
        lines = [line for line in done.stderr.splitlines() if ": error: " in line] or ["the program ended early"]
        error = lines[-1].split(": error: ", 1)[-1]
    return Run(planned.task.name, planned.method.name, planned.setting, planned.seed, mark_of(command),
               time.monotonic() - start, points, error)


def train_missing(study, jobs, minutes, save, **selection):
    """Trains what is missing, several runs at once, and saves after each. The next run is the most valuable one that
    nobody has begun; where that depends on runs that are not done yet, it waits for them."""
    start, running, finished = time.monotonic(), {}, 0
    with ThreadPoolExecutor(jobs) as pool:
        while True:
            begun = {planned.key for planned in running.values()}
            left = [planned for planned in study.planned(**selection) if planned.key not in begun]
            late = minutes and time.monotonic() - start > 60 * minutes
            while left and len(running) < jobs and not late:
                planned = left.pop(0)
                running[pool.submit(train_one, planned)] = planned
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                del running[future]
                run = future.result()
                finished += 1
                what = " ".join(filter(None, [run.task, run.method, *run.setting]))
                tools.progress(f"study {finished}/{finished + len(left) + len(running)}: {what} seed {run.seed}, "
                               f"{run.seconds:.1f} s" + (f", {run.error}" if run.error else ""))
                study.set_runs([*study.runs, run])
                save(study.runs)
