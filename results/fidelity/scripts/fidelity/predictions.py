"""What each way of predicting says about a configuration, from profiles alone.

`ours`: the profile through the simulator. `formula`: the paper's closed form. `one mean`: the simulator with one mean time per operation,
equal for all stages. `own times`: the run's own median durations, host and message times through the simulator; that is not a prediction but
tells how much of an error the order and its simulation make.
"""
import copy
import json
import statistics

from fidelity import closed_forms
from fidelity.actions import actions_of

TIMES = ("f_ns", "b_ns", "i_ns", "w_ns", "u_ns")


def merged(profiles):
    """One profile from several measurements: means of means, medians of medians, widest ranges."""
    result = copy.deepcopy(profiles[0])
    for number, stage in enumerate(result["stages"]):
        for key in TIMES:
            rows = [profile["stages"][number][key] for profile in profiles if key in profile["stages"][number]]
            if rows:
                stage[key] = {"median": round(statistics.median(row["median"] for row in rows)), "p10": min(row["p10"] for row in rows),
                              "p90": max(row["p90"] for row in rows), "n": sum(row["n"] for row in rows),
                              "mean": round(statistics.fmean(row["mean"] for row in rows))}
    for number, row in enumerate(result["transfers"]):
        row["latency_ns"] = round(statistics.median(profile["transfers"][number]["latency_ns"] for profile in profiles))
        row["bytes_per_s"] = statistics.median(profile["transfers"][number]["bytes_per_s"] for profile in profiles)
    return result


def one_mean(profile):
    """The same with every stage as long as the mean of all."""
    result = copy.deepcopy(profile)
    for key in TIMES:
        if all(key in stage for stage in profile["stages"]):
            mean = {word: round(statistics.fmean(stage[key][word] for stage in profile["stages"])) for word in ("median", "p10", "p90", "n", "mean")}
            for stage in result["stages"]:
                stage[key] = dict(mean)
    return result


def scaled(profile, ratios, messages, network, samples):
    """The profile of another size: times by the `ratios` of stages and operations, messages by one ratio."""
    result = copy.deepcopy(profile)
    result["network"], result["samples"] = network, samples
    for number, stage in enumerate(result["stages"]):
        for key in TIMES:
            if key in stage:
                factor = ratios[number][key]
                stage[key] = {word: value if word == "n" else round(value * factor) for word, value in stage[key].items()}
    for row in result["transfers"]:
        row["bytes"] = round(row["bytes"] * messages)
    return result


def model_times(experiment, bench, model, stages):
    """By stage: what the cost model (`simulate --network --cluster`) says that operations take; asked once, because the cluster `host` is measured each time."""
    kept = bench.journal.find("model", f"{model}/{stages}")
    if kept:
        return kept["stages"]
    path = bench.work / "model.json"
    done = bench.plumbline("simulate", "zb-h1", "-p", stages, "-m", stages, *experiment.model_words(bench, model), "--cluster", experiment.document["cluster"], "--json", path)
    if not done.fine:
        return None
    found = [{} for _ in range(stages)]
    document = json.loads(path.read_text())
    for action in actions_of(document):
        found[action.place.stage][action.place.kind.lower() + "_ns"] = action.end - action.begin
    for stage in found:
        stage["b_ns"] = stage.get("i_ns", 0) + stage["w_ns"]
        stage["i_ns"] = stage.get("i_ns") or stage["b_ns"]
        stage["u_ns"] = 1
    return bench.journal.add("model", f"{model}/{stages}", stages=found)["stages"]


def profile_for(experiment, bench, configuration):
    """The merged profile that predicts `configuration`, brought to its model's size; None where it is missing."""
    name, journal = configuration["profile"], bench.journal
    lines = [line for line in journal.all("profile") if line["name"].rsplit("/", 1)[0] == name]
    if not lines:
        return None
    profile = merged([journal.document(line, next(iter(line["files"]))) for line in lines])
    source, model = experiment.document["profiles"][name]["model"], configuration["model"]
    if source == model:
        return profile
    stages = len(profile["stages"])
    small, large = model_times(experiment, bench, source, stages), model_times(experiment, bench, model, stages)
    if not small or not large:
        return None
    ratios = [{key: after[key] / before[key] for key in TIMES} for before, after in zip(small, large)]
    models = experiment.document["models"]
    width = lambda which: {**experiment.document["network"], **models[which].get("change", {})}["width"]
    weights = (width(model) / width(source)) ** 2
    for row in ratios:
        row["u_ns"] = weights
    messages = width(model) * models[model]["samples"] / width(source) / models[source]["samples"]
    return scaled(profile, ratios, messages, model, models[model]["samples"])


def simulate(experiment, bench, configuration, profile):
    """The timeline document of a profile document (or the file of one), or None."""
    given, path = bench.work / "given.profile.json", bench.work / "predicted.json"
    given.write_text(json.dumps(profile))
    # A profile has the name of its network; one that is not built in is found in its file.
    network = ["--network", experiment.network(bench, configuration["model"])] if "network" in profile else []
    done = bench.plumbline("simulate", *configuration["schedule"], "--updates", experiment.steps, "--profile", given, *network, "--json", path)
    return json.loads(path.read_text()) if done.fine else None


def formula(configuration, profile, predicted):
    """The closed form's step in ns, or None."""
    devices = {}
    kinds = set()
    for action in actions_of(predicted):
        devices.setdefault(action.place.device, set()).add(action.place.stage)
        kinds.add(action.place.kind)
    mean = lambda stage, key: profile["stages"][stage].get(key, {}).get("mean", 0)
    sums = []
    for stages in devices.values():
        forward, half, rest, whole = (sum(mean(stage, key) for stage in stages) for key in ("f_ns", "i_ns", "w_ns", "b_ns"))
        if "B" in kinds and half + rest:  # whole backwards: their time, in the proportion of the halves
            half, rest = whole * half / (half + rest), whole * rest / (half + rest)
        sums.append((forward, half, rest))
    about = configuration.get("closed_form", {})
    if about.get("recompute"):
        sums = [(forward, half + forward, rest) for forward, half, rest in sums]
    if about.get("copies"):  # of the model: every device has the stages of all of them, and half of the microbatches of each
        sums = [tuple(value / about["copies"] for value in row) for row in sums]
    work = closed_forms.Work(len(sums), predicted["num_microbatches"] // predicted["updates"], *(statistics.fmean(column) for column in zip(*sums)),
                             busiest=max(map(sum, sums)), update=max(mean(stage, "u_ns") for stage in range(len(profile["stages"]))),
                             chunks=about.get("chunks", 1), slices=about.get("slices", 1))
    return closed_forms.step(configuration["schedule"][0], work)


def own_times(experiment, bench, configuration, runs):
    """The timeline of the runs' own medians, or None. `runs`: texts of their timeline documents."""
    paths = []
    for number, text in enumerate(runs):
        paths.append(bench.work / f"own{number}.json")
        paths[-1].write_text(text)
    path = bench.work / "own.profile.json"
    if not bench.plumbline("trace", *paths, "--summary", "--profile", path).fine:
        return None
    # What the run computed again is part of its backwards already.
    schedule = configuration["schedule"]
    at = schedule.index("--recompute") if "--recompute" in schedule else len(schedule)
    return simulate(experiment, bench, {**configuration, "schedule": schedule[:at] + schedule[at + 2:]}, json.loads(path.read_text()))
