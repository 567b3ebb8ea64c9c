"""The table of an experiment: every way of predicting beside what was measured, and the verdict."""
import itertools
import json
import os
import statistics

from fidelity import predictions
from fidelity.actions import actions_of, duration_errors, path_share, start_errors, step_times
from fidelity.bench import OutOfTime
from fidelity.clocks import clock_between, read_rows, strays
from fidelity.intervals import between_runs, block_bootstrap, quantile


def runs_of(bench, rejected, name):
    """(number, text of the document) of every run of a configuration that counts."""
    lines = [line for line in bench.journal.all("run") if line["name"].rsplit("/", 1)[0] == name and line["name"] not in rejected]
    return [bench.journal.read(line, next(iter(line["files"]))) for line in lines]


def rejected_runs(experiment, bench):
    """Names of the runs whose clock is not that of the others."""
    rows, lines = read_rows(bench.out / "clocks.csv"), bench.journal.all("run")
    marks = strays([clock_between(rows, line["begin"], line["end"]) for line in lines], experiment.document["limits"]["clock"])
    return {line["name"] for line, mark in zip(lines, marks) if mark}


def same_memory(predicted, measured):
    return all(a["peak_memory_by_class"] == b["peak_memory_by_class"] for a, b in zip(predicted["devices"], measured["devices"]))


def idle_points(predicted, runs):
    """Largest difference of a device's idle share, in points of a hundred."""
    share = lambda document, device: document["devices"][device]["idle_ns"] / document["makespan_ns"]
    return 100 * max(abs(share(predicted, device) - statistics.median(share(run, device) for run in runs)) for device in range(len(predicted["devices"])))


def row_of(experiment, bench, configuration, rejected):
    """All figures of a configuration, or None where its runs or its profile are missing."""
    texts = runs_of(bench, rejected, configuration.get("runs_of", configuration["name"]))
    profile = predictions.profile_for(experiment, bench, configuration)
    if not texts or profile is None:
        return None
    ours = predictions.simulate(experiment, bench, configuration, profile)
    if ours is None:
        return None
    first, runs = experiment.first_step, [json.loads(text) for text in texts]
    steps = [step_times(run, first) for run in runs]
    low, high = block_bootstrap(steps)
    measured = statistics.median(itertools.chain.from_iterable(steps))
    mean = predictions.simulate(experiment, bench, configuration, predictions.one_mean(profile))
    own = predictions.own_times(experiment, bench, configuration, texts)
    step = lambda document: None if document is None else statistics.median(step_times(document, first))
    says = {"ours": step(ours), "formula": predictions.formula(configuration, profile, ours), "one mean": step(mean), "own times": step(own)}
    predicted, lines = actions_of(ours), [actions_of(run) for run in runs]
    errors = duration_errors(predicted, lines, first)
    starts = start_errors(predicted, lines, first)
    row = {"name": configuration["name"], "kind": configuration["kind"], "schedule": configuration["schedule"], "runs": len(runs), "steps": sum(map(len, steps)),
           "measured_ns": measured, "low_ns": low, "high_ns": high, "between_runs": between_runs(steps), "predicted_ns": says,
           "errors": {way: None if value is None else value / measured - 1 for way, value in says.items()},
           "worst_error": max(abs(says["ours"] / low - 1), abs(says["ours"] / high - 1)), "idle_points": idle_points(ours, runs),
           "durations": {"p10": quantile(errors, 0.1), "p50": quantile(errors, 0.5), "p90": quantile(errors, 0.9)},
           "starts": [value / measured for value in starts.values()],
           "path": statistics.fmean(path_share(predicted, run, first) for run in lines), "memory": same_memory(ours, runs[0])}
    row["verdict"] = verdict(row, experiment.document["limits"]["error"].get(configuration["kind"]))
    name = f"{configuration['name']}.predicted.json"
    if bench.journal.find("prediction", name) is None:
        bench.journal.add("prediction", name, files={name: json.dumps(ours)})
    return row


def verdict(row, limit):
    """`pass` where the worse end of the interval is within the limit, `FAIL` where the better end is not, else `open`: too noisy to say."""
    if limit is None:
        return "-"
    if row["worst_error"] <= limit:
        return "pass"
    ours = row["predicted_ns"]["ours"]
    nearest = min(max(ours, row["low_ns"]), row["high_ns"])
    return "FAIL" if abs(ours / nearest - 1) > limit else "open"


def pairs(rows, margin):
    """(compared, names of pairs in the wrong order): same model and size, predicted further apart than `margin`, intervals apart."""
    compared, wrong = 0, []
    for a, b in itertools.combinations([row for row in rows if row["kind"] == "in place"], 2):
        same = a["model"] == b["model"]
        near, far = sorted((a["predicted_ns"]["ours"], b["predicted_ns"]["ours"]))
        apart = a["high_ns"] < b["low_ns"] or b["high_ns"] < a["low_ns"]
        if same and apart and far > near * (1 + margin):
            compared += 1
            if (a["predicted_ns"]["ours"] < b["predicted_ns"]["ours"]) != (a["measured_ns"] < b["measured_ns"]):
                wrong.append([a["name"], b["name"]])
    return compared, wrong


def percent(value):
    return "none" if value is None else f"{100 * value:+.1f} %"


HEAD = ("configuration", "measured", "95 % interval", "runs differ by", "ours", "formula", "one mean", "own times", "durations 10/50/90 %", "starts, worst device",
        "critical path named", "idle", "memory", "verdict")


def text_row(row):
    spread = row["durations"]
    return (row["name"], f"{row['measured_ns'] / 1e6:.2f} ms", f"{row['low_ns'] / 1e6:.2f} to {row['high_ns'] / 1e6:.2f}", f"{100 * row['between_runs']:.1f} %",
            *(percent(row["errors"][way]) for way in ("ours", "formula", "one mean", "own times")),
            "/".join(f"{100 * spread[word]:+.0f}" for word in ("p10", "p50", "p90")), f"{100 * max(row['starts']):.1f} % of a step", f"{100 * row['path']:.0f} %",
            f"{row['idle_points']:.1f} points", "equal" if row["memory"] else "DIFFERS", row["verdict"])


def markdown(result):
    lines = ["| " + " | ".join(HEAD) + " |", "|---|" + "---:|" * (len(HEAD) - 2) + "---|"]
    lines += ["| " + " | ".join(text_row(row)) + " |" for row in result["rows"]]
    for kind, means in result["mean_errors"].items():
        lines += ["", f"Mean size of the error, {kind}: " + ", ".join(f"{way} {100 * value:.1f} %" for way, value in means.items() if value is not None) + "."]
    wrong = "; ".join(" and ".join(pair) for pair in result["wrong_pairs"])
    lines += ["", f"Pairs in the predicted order: {result['pairs'] - len(result['wrong_pairs'])} of {result['pairs']}{': wrong ' + wrong if wrong else ''}.",
              f"Rejected for their clock: {', '.join(result['rejected']) or 'none'}. Missing: {', '.join(result['missing']) or 'none'}.",
              f"Load average before runs: {result['load_average'][0]:.1f} to {result['load_average'][1]:.1f}. Machine: {result['machine']}."]
    return "\n".join(lines) + "\n"


def make(experiment, bench):
    """Writes `fidelity.json` and `fidelity.md`; says whether everything is there and passes."""
    rejected, rows, missing = rejected_runs(experiment, bench), [], []
    for name, configuration in experiment.configurations.items():
        try:
            row = row_of(experiment, bench, configuration, rejected)
        except OutOfTime:  # the rows so far are a table, too; another call, or --table elsewhere, makes the rest
            row = None
        rows.append({**row, "model": configuration["model"]}) if row else missing.append(name)
    compared, wrong = pairs(rows, experiment.document["limits"]["order"])
    loads = [line["load_average"] for line in bench.journal.all("run")] or [0]
    means = {}
    for kind in dict.fromkeys(row["kind"] for row in rows):
        of = lambda way: [abs(row["errors"][way]) for row in rows if row["kind"] == kind and row["errors"][way] is not None]
        means[kind] = {way: statistics.fmean(of(way)) if of(way) else None for way in ("ours", "formula", "one mean", "own times")}
    runs = bench.journal.all("run")
    result = {"format": "plumbline-fidelity", "version": 1, "rows": rows, "mean_errors": means, "pairs": compared, "wrong_pairs": wrong, "rejected": sorted(rejected),
              "missing": missing, "load_average": [min(loads), max(loads)], "machine": runs[0]["machine"] if runs else ""}
    for name, text in (("fidelity.json", json.dumps(result, indent=1) + "\n"), ("fidelity.md", markdown(result))):
        scratch = bench.out / (name + ".new")
        scratch.write_text(text)
        os.replace(scratch, bench.out / name)
    return not missing and not wrong and all(row["verdict"] in ("pass", "-") and row["memory"] for row in rows)
