"""An experiment as its document describes it (EXPERIMENT.md), run in a random order that is written down, each result kept at once."""
import json
import os
import pathlib
import random
import shutil
import subprocess

from fidelity.bench import OutOfTime
from fidelity.clocks import load_average

MOST_FAILURES = 2  # of one thing, over all calls; then it is left out
FOR_THE_TABLE_S = 60  # kept for the analysis of what has been run


class Experiment:
    def __init__(self, path, quick=False, flags=()):
        document = json.loads(pathlib.Path(path).read_text())
        if document.get("format") != "plumbline-experiment" or document.get("version") != 1:
            raise ValueError(f"{path}: found format {document.get('format')!r} and version {document.get('version')!r}, expected plumbline-experiment and 1")
        if quick:
            document["network"].update(document["quick"].pop("network"))
            document.update(document.pop("quick"))
        self.document, self.folder = document, pathlib.Path(path).parent
        self.runs, self.steps, self.first_step = document["runs"], document["steps"], document["first_step"]
        self.configurations = {row["name"]: row for row in document["configurations"]}
        self.flags = [*document["backend"], *flags]

    def tasks(self):
        """(kind, name, number) of everything that is measured: rounds of all profiles and configurations, each round in an order of its own."""
        draw, tasks = random.Random(self.document["seed"]), []
        for number in range(self.runs):
            one_round = [("profile", name, number) for name in self.document["profiles"]]
            one_round += [("run", name, number) for name, row in self.configurations.items() if "runs_of" not in row]
            draw.shuffle(one_round)
            tasks += one_round
        return tasks

    def network(self, bench, model):
        """The file of a model's network, written where commands find it."""
        path = bench.work / f"{model}.network.json"
        document = {**self.document["network"], **self.document["models"][model].get("change", {}), "name": model}
        path.write_text(json.dumps(document))
        return path

    def model_words(self, bench, model):
        return ["--network", self.network(bench, model), "--samples", self.document["models"][model]["samples"], "--partition", "equal"]


def measure_profile(experiment, bench, name, path, environment):
    row = experiment.document["profiles"][name]
    watchdog = bench.watchdog() if "cuda" in experiment.flags else []  # of runs on streams, which profiles on the CPU are not
    return bench.plumbline("profile", *experiment.model_words(bench, row["model"]), *experiment.flags, *watchdog, "--stages", row["stages"],
                           "--devices", row["devices"], "-m", row["microbatches"], "--rounds", 1, "--calm", "-o", path, environment=environment)


def measure_run(experiment, bench, name, path, environment):
    row = experiment.configurations[name]
    load = None
    if row.get("load"):
        load = subprocess.Popen(experiment.document["load"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=experiment.folder)
    try:
        return bench.plumbline("train", *row["schedule"], "--updates", experiment.steps, *experiment.model_words(bench, row["model"]), *experiment.flags,
                               *experiment.document["train"], *bench.watchdog(), "--json", path, environment=environment)
    finally:
        if load:
            load.kill()
            load.wait()


def take(experiment, bench, task, environment):
    """Measures one thing and keeps it; says whether that went well."""
    kind, name, number = task
    path = bench.work / "result.json"
    path.unlink(missing_ok=True)
    before = load_average()
    done = (measure_profile if kind == "profile" else measure_run)(experiment, bench, name, path, environment)
    label, about = f"{name}/{number}", {"begin": done.begin, "end": done.end, "load_average": before}
    if not done.fine:
        bench.journal.add("failed", label, status=done.status, **about)
        bench.say(f"{kind} {label}: exit status {done.status}, see log.txt")
        return False
    about["machine"] = json.loads(path.read_text()).get("machine", "")
    bench.journal.add(kind, label, files={f"{name}.{kind}{number}.json": path}, **about)
    return True


def measure(experiment, bench, environment=None):
    """Everything that is not in the journal yet, until all is there or the time is over; says whether all is there."""
    plan = experiment.tasks()
    prefix = experiment.document.get("prefix", [])
    bench.prefix = prefix if prefix and os.geteuid() == 0 and shutil.which(prefix[0]) else []
    if bench.journal.find("plan", "order") is None:
        bench.journal.add("plan", "order", seed=experiment.document["seed"], tasks=plan)
    fine = True
    for task in plan:
        kind, name, number = task
        if bench.journal.find(kind, f"{name}/{number}"):
            continue
        if sum(line["name"] == f"{name}/{number}" for line in bench.journal.all("failed")) >= MOST_FAILURES:
            fine = False
            continue
        if bench.left() < FOR_THE_TABLE_S:
            bench.say("no time left for further runs")
            return False
        try:
            fine = take(experiment, bench, task, environment) and fine
        except OutOfTime:
            return False
    return fine
