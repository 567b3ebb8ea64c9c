#!/usr/bin/env python3
"""Predicts the step times of published training runs from their configurations, with one table of constants per type of
GPU (models/presets/devices), and compares them with the measurements. Without DATA, README.md, predictions.csv, memory.csv
and scatter.svg of results/public are updated.

    ./plumbline reproduce public [DATA]... [options]       (with the Python module of the source tree)
    python3 results/public/study.py [DATA]... [options]    (with an installed one)
"""
import argparse
import csv
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import study_tools as tools

FOLDER = tools.RESULTS / "public"
DATA = ["vtrain", "simumax", "nemo", "vocabulary-parallel", "vocabulary-rerun", "megatron-lm-ci", "primus", "torchtitan",
        "zero-bubble-paper", "megatron-papers", "megatron-moe", "bigscience", "megatron-bridge"]
MARK = "<!-- results -->\n"
WORST_ROWS, WORST_MEMORY_ROWS = 12, 8
LEAST_WAYS = 3  # to run one job, so that they can be ranked
TINY_WIDTH = 1024  # tests of frameworks train networks of this width or less
NEVER_FITTED = ("bigscience", "vocabulary-rerun")  # they show what a fit is worth to somebody who took no part in it
PLENTY = 40  # rows of a group, of which some are enough for a fit
PULL = 0.02  # how strongly a fit is drawn to where it starts, which was measured on the same type of chip


def predict(files, rates=None):
    """What `plumbline device predict` says of all rows."""
    command = [tools.PROGRAM, "device", "predict", "--stages", str(FOLDER / "stage-times.csv"), "--json", "-"]
    for file in files:
        command += ["--rows", str(file)]
    done = subprocess.run(command + (["--rates", str(rates)] if rates else []), capture_output=True, text=True)
    if done.returncode != 0:
        raise tools.WrongInput(done.stderr.strip().split(": error: ", 1)[-1])
    return json.loads(done.stdout)


def group_of(row):
    """The rows that are left out of a fit together: those of a file, single node apart from several in vTrain's, which
    ran on other machines."""
    if row["data"] != "vtrain":
        return row["data"]
    return "vtrain" + (", several nodes" if row["num_gpus"] > 8 else ", one node")


def rates_without(group):
    """Rates that no row of the group has fitted; none where the shipped rates are no fit. The second run of the same jobs
    is left out with the first."""
    slug = "vocabulary-parallel" if group == "vocabulary-rerun" else group.replace(", ", "-").replace(" ", "-")
    path = FOLDER / "left-out" / f"{slug}.json"
    return path if path.exists() else None


class Results:
    """Rows with `measured_s`, `predicted_s` and `left_out_s`, what was predicted with rates that no row of the group has
    fitted; passes of stages likewise; rows that state memory; and those that are not predicted."""

    def __init__(self, names):
        files = {name: FOLDER / f"{name}.csv" for name in names}
        found = predict(files.values())
        self.steps, self.passes, self.memory = found["steps"], found["passes"], found["memory"]
        self.refused = found["not_predicted"]
        for row in self.steps:
            row["group"], row["left_out_s"] = group_of(row), row["predicted_s"]
        by_id = {row["row_id"]: row for row in self.steps}
        for one in self.passes:
            one["row"], one["left_out_s"] = by_id[one["row_id"]], one["predicted_s"]
        for group in sorted({row["group"] for row in self.steps}):
            rates = rates_without(group)
            if rates:
                self._leave_out(group, predict([files[group.split(",")[0]]], rates))

    def _leave_out(self, group, found):
        steps = {row["row_id"]: row["predicted_s"] for row in found["steps"]}
        key = lambda one: (one["row_id"], one["stage"], one["pass"])
        passes = {key(one): one["predicted_s"] for one in found["passes"]}
        for row in self.steps:
            if row["group"] == group:
                row["left_out_s"] = steps[row["row_id"]]
        for one in self.passes:
            if one["row"]["group"] == group:
                one["left_out_s"] = passes[key(one)]


def error_of(row, key="predicted_s"):
    return row[key] / row["measured_s"] - 1


def mean(values):
    return tools.total(values) / len(values)


def ranks(values):
    """Ties share their ranks."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    result = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for i in order[begin:end]:
            result[i] = (begin + end - 1) / 2
        begin = end
    return result


def rank_correlation(a, b):
    """Spearman's; nan for fewer than 3 values, and where all of one side are equal."""
    if len(a) < 3:
        return math.nan
    x, y = ranks(a), ranks(b)
    mean_x, mean_y = mean(x), mean(y)
    product = lambda left, right: tools.total(p * q for p, q in zip(left, right))
    dx, dy = [each - mean_x for each in x], [each - mean_y for each in y]
    xx, yy = product(dx, dx), product(dy, dy)
    return product(dx, dy) / math.sqrt(xx * yy) if xx > 0 and yy > 0 else math.nan


class Score:
    """Predicted against measured, over some rows. Errors are (predicted - measured) / measured."""

    def __init__(self, rows, measured="measured_s", predicted="predicted_s"):
        errors = [row[predicted] / row[measured] - 1 for row in rows]
        sizes = [abs(error) for error in errors]
        self.rows = len(rows)
        self.bias, self.mape = mean(errors), mean(sizes)
        self.median = sorted(sizes)[len(sizes) // 2]
        self.worst = rows[sizes.index(max(sizes))]
        self.rank_correlation = rank_correlation([row[predicted] for row in rows], [row[measured] for row in rows])


def grouped(rows, key):
    """By name, in the order of names, without those that have none."""
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return {name: groups[name] for name in sorted(groups) if name}


def depth_group(row):
    return row["group"] + (", pp>1" if row["pipeline"] > 1 else ", pp=1")


def half_of(row):
    return depth_group(row) + (", fitted half" if row["fits_constants"] else ", other half")


def schedule_group(row):
    return f"{row['data']}, {row['schedule']}" if row["pipeline"] > 1 else ""


def score_cells(name, rows):
    score = Score(rows)
    rank = score.rank_correlation
    return [name, str(score.rows), tools.percent_text(score.mape), tools.signed_percent(score.bias),
            tools.percent_text(score.median), "-" if math.isnan(rank) else tools.fixed(rank, 3),
            f"{score.worst['row_id']} {tools.signed_percent(error_of(score.worst))}"]


SCORE_HEAD = ["rows", "MAPE", "bias", "median", "rank correlation", "worst row"]
SCORE_RIGHT = [False, True, True, True, True, True, False]


def scores_table(title, rows, key):
    return tools.markdown([title, *SCORE_HEAD],
                          [score_cells(name, group) for name, group in grouped(rows, key).items()], SCORE_RIGHT) + "\n"


def left_out_table(title, groups):
    scored = [(name, Score(rows), Score(rows, predicted="left_out_s")) for name, rows in groups.items()]
    scored.sort(key=lambda each: -each[2].mape)
    return tools.markdown([title, "n", "error, left out", "bias, left out", "error", "bias"],
                          [[name, str(shipped.rows), tools.percent_text(unseen.mape), tools.signed_percent(unseen.bias),
                            tools.percent_text(shipped.mape), tools.signed_percent(shipped.bias)]
                           for name, shipped, unseen in scored], [False] + [True] * 5) + "\n"


def stage_group(one):
    row, name = one["row"], one["row"]["group"]
    if one["stage"] is not None:
        name += f", sequence {row['sequence']}" + (", stage with the head" if one["stage"] + 1 == row["pipeline"] else "")
    return f"{name}, {one['pass']}"


def job_of(row):
    """Rows are of one job when they agree in source, model, devices, tokens and samples of a step."""
    return (row["data"], row["source"], row["model"], row["gpu"], row["layers"], row["hidden"], row["sequence"],
            row["vocabulary"], row["num_gpus"], row["microbatch_size"] * row["num_microbatches"] * row["data_degree"])


class Choice:
    """Ways of running one job that were all measured. What a user asks is which of them is fastest."""

    def __init__(self, rows):
        measured, predicted = [row["measured_s"] for row in rows], [row["left_out_s"] for row in rows]
        chosen, best = measured[predicted.index(min(predicted))], min(measured)
        self.data = rows[0]["data"]
        self.rank_correlation = rank_correlation(predicted, measured)
        self.fastest_found = chosen <= best
        self.regret = chosen / best - 1


def choices_of(rows):
    return [Choice(ways) for ways in grouped(rows, job_of).values() if len(ways) >= LEAST_WAYS]


def choices_table(rows):
    table = []
    for data, choices in grouped(choices_of(rows), lambda choice: choice.data).items():
        ranked = [choice.rank_correlation for choice in choices if not math.isnan(choice.rank_correlation)]
        regret = tools.total(choice.regret / len(choices) for choice in choices)
        table.append([data, str(len(choices)), tools.fixed(mean(ranked) if ranked else 0, 3),
                      f"{sum(choice.fastest_found for choice in choices)} of {len(choices)}",
                      tools.percent_text(regret)])
    return tools.markdown(["ways to run one job (constants left out)", "jobs", "rank correlation inside a job",
                           "fastest found", "the chosen one is slower than the fastest by"], table,
                          [False] + [True] * 4) + "\n"


def checks(results):
    return (left_out_table("step times, weakest first", grouped(results.steps, lambda row: row["group"])) +
            left_out_table("times of stages", grouped(results.passes, stage_group)) + choices_table(results.steps))


def published_table(rows):
    """The rows that another tool predicts, too."""
    with_other = [row for row in rows if row["published_error"] is not None]
    table = [[name, str(len(group)), f"{100 * mean([abs(row['published_error']) for row in group]):.2f} %",
              f"{100 * Score(group).mape:.2f} %"] for name, group in grouped(with_other, lambda row: row["data"]).items()]
    return tools.markdown(["rows that another tool predicted, too", "rows", "its MAPE", "ours"], table,
                          [False, True, True, True]) + "\n"


def worst_table(rows):
    worst = sorted(rows, key=lambda row: -abs(error_of(row)))[:WORST_ROWS]
    seconds = lambda value: tools.number_text(value) + " s"
    return tools.markdown(
        ["worst rows", "measured", "predicted", "error", "tp x pp x dp, microbatch, microbatches"],
        [[row["row_id"], seconds(row["measured_s"]), seconds(row["predicted_s"]), tools.signed_percent(error_of(row)),
          f"{row['tensor']} x {row['pipeline']} x {row['data_degree']}, {row['microbatch_size']}, "
          f"{row['num_microbatches']}"] for row in worst], [False, True, True, True, False]) + "\n"


def refused_table(refused):
    table = [[data, str(len(rows)), why]
             for (data, why), rows in grouped(refused, lambda row: (row["data"], row["why"])).items()]
    return tools.markdown(["not predicted", "rows", "why"], table, [False, True, False])


def memory_error(row):
    return row["predicted_gib"] / row["measured_gib"] - 1


def memory_group(row):
    return row["data"] + (", tiny" if row["hidden"] <= TINY_WIDTH else "")


def memory_cells(name, rows):
    score = Score(rows, "measured_gib", "predicted_gib")
    above = [row["reserved_gib"] / row["measured_gib"] - 1 for row in rows if row["reserved_gib"] > 0]
    held = f"{tools.signed_percent(min(above))} to {tools.signed_percent(max(above))}" if above else "-"
    return [name, str(score.rows), tools.percent_text(score.mape), tools.percent_text(abs(memory_error(score.worst))),
            tools.signed_percent(score.bias), held, score.worst["row_id"]]


MEMORY_HEAD = ["rows", "mean error", "largest", "bias", "held above allocated", "worst row"]
MEMORY_RIGHT = [False, True, True, True, True, True, False]


def memory_page(rows):
    text = ""
    for title, key in (("memory: data set", memory_group),
                       ("memory: by schedule", lambda row: f"{memory_group(row)}, {row['schedule']}")):
        text += tools.markdown([title, *MEMORY_HEAD], [memory_cells(name, group)
                                                       for name, group in grouped(rows, key).items()], MEMORY_RIGHT) + "\n"
    worst = sorted(rows, key=lambda row: -abs(memory_error(row)))[:WORST_MEMORY_ROWS]
    gib = lambda value: tools.fixed(value, 2) + " GiB"
    return text + tools.markdown(["memory: worst rows", "measured", "predicted", "error"],
                                 [[row["row_id"], gib(row["measured_gib"]), gib(row["predicted_gib"]),
                                   tools.signed_percent(memory_error(row))] for row in worst],
                                 [False, True, True, True]) + "\n"


def memory_csv(rows):
    lines = ["row_id,group,schedule,measured_gib,reserved_gib,predicted_gib,error"]
    for row in rows:
        reserved = tools.fixed(row["reserved_gib"], 3) if row["reserved_gib"] > 0 else ""
        lines.append(f"{row['row_id']},\"{memory_group(row)}\",\"{row['schedule']}\",{row['measured_gib']:.3f},{reserved},"
                     f"{row['predicted_gib']:.3f},{memory_error(row):.4f}")
    return "\n".join(lines) + "\n"


def steps_csv(rows):
    lines = ["row_id,group,half,measured_s,predicted_s,error,left_out_s"]
    for row in rows:
        seconds = [tools.number_text(row[key], 6) for key in ("measured_s", "predicted_s", "left_out_s")]
        lines.append(f"{row['row_id']},\"{depth_group(row)}\",{'fitted' if row['fits_constants'] else 'other'},"
                     f"{seconds[0]},{seconds[1]},{error_of(row):.4f},{seconds[2]}")
    return "\n".join(lines) + "\n"


def page(results):
    rows = results.steps
    return (checks(results) + scores_table("data set", rows, depth_group) + scores_table("by half", rows, half_of) +
            scores_table("by schedule, pp>1", rows, schedule_group) + published_table(rows) + worst_table(rows) +
            refused_table(results.refused) + "\n" + memory_page(results.memory))


def scatter(rows):
    """Predicted over measured step time of all data sets."""
    series = []
    for name, group in grouped(rows, lambda row: row["group"]).items():
        ordered = sorted(group, key=lambda row: row["measured_s"])
        series.append({"name": name, "colour": len(series), "points": True, "line": False,
                       "x": [row["measured_s"] for row in ordered], "y": [row["predicted_s"] for row in ordered]})
    values = [row["measured_s"] for row in rows]
    series.append({"name": "equal", "dashed": True, "x": [min(values), max(values)], "y": [min(values), max(values)]})
    return {"title": "Predicted and measured step times of public runs",
            "note": "one table of constants per type of GPU", "x": {"title": "measured (s)", "logarithmic": True},
            "y": {"title": "predicted (s)", "logarithmic": True}, "series": series}


def text(results):
    rows = [score_cells(name, group) for key in (depth_group, half_of)
            for name, group in grouped(results.steps, key).items()]
    memory = [memory_cells(name, group) for name, group in grouped(results.memory, memory_group).items()]
    return (tools.columns(["data set", "rows", "MAPE", "bias", "median", "ranks", "worst row"], rows, SCORE_RIGHT) + "\n" +
            checks(results) + "\n" + tools.columns(["memory", *MEMORY_HEAD], memory, MEMORY_RIGHT))


def fitting_ids(names, gpu, without):
    """By group, the rows that fit the constants of a type of GPU: one half. Of a large group some are enough, since every
    group counts the same. Searched orders take no part: their steps jump when a constant moves, and a fit that follows
    slopes stops there."""
    rows = predict([FOLDER / f"{name}.csv" for name in names])["steps"]
    rows = [row for row in rows if row["device"].startswith(gpu)]
    for row in rows:
        row["group"] = group_of(row)
    chosen = {}
    for group in dict.fromkeys(row["group"] for row in rows):
        members = [row for row in rows if row["group"] == group]
        half = [row for row in members if row["fits_constants"] and not row["schedule"].startswith("ZB-")]
        if group in NEVER_FITTED or group == without or not half:
            continue
        chosen[group] = {row["row_id"] for row in half[::1 + len(members) // PLENTY]}
    if not chosen:
        raise tools.WrongInput(f"--fit: no rows of '{gpu}', expected the beginning of a GPU's name")
    return chosen


def fit(args, names):
    """The document of the fitted constants: a table for each group, which all count the same."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [tools.PROGRAM, "device", "fit", "--all-constants", "--even", "--pull", str(PULL), "--stages",
                   str(FOLDER / "stage-times.csv"), "--rounds", str(args.rounds), "-o", "-"]
        for group, ids in fitting_ids(names, args.fit, args.without).items():
            # The name of a table tells what ran it, and recipes lie beside it: so every group has a folder of its own.
            copy = pathlib.Path(scratch) / str(len(command))
            shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("*.csv", "licences", "left-out"))
            file = copy / f"{group.split(',')[0]}.csv"
            with open(FOLDER / file.name, newline="") as source:
                reader = csv.DictReader(source)
                rows = [row for row in reader if row["row_id"] in ids]
            with open(file, "w", newline="") as target:
                writer = csv.DictWriter(target, reader.fieldnames, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
            command += ["--rows", str(file)]
        for option, value in (("--constants", args.constants), ("--rates", args.start)):
            command += [option, value] if value else []
        return subprocess.run(command).returncode


def main():
    parser = argparse.ArgumentParser(prog="plumbline reproduce public", description=__doc__.split("\n\n")[0])
    parser.add_argument("data", nargs="*", metavar="DATA")
    parser.add_argument("--fit", metavar="GPU",
                        help="fit the constants of this type of GPU to one half of the rows, and print its document")
    parser.add_argument("--start", metavar="FILE", help="with --fit: rates to start from (default: the shipped ones)")
    parser.add_argument("--without", metavar="GROUP",
                        help="with --fit: leave the rows of this group out, such as vocabulary-parallel")
    parser.add_argument("--constants", metavar="LIST",
                        help="with --fit: names of the constants to fit (default: all)")
    parser.add_argument("--rounds", type=int, default=8, metavar="N",
                        help="with --fit: at most this many steps (default: 8)")
    parser.add_argument("--csv", metavar="FILE", help="write every row as CSV (- is standard output)")
    args = parser.parse_args()
    for name in args.data:
        tools.known(name, DATA, "data set")
    if args.fit:
        return fit(args, args.data or DATA)
    results = Results(args.data or DATA)
    if args.csv == "-":
        print(steps_csv(results.steps), end="")
    elif args.csv:
        pathlib.Path(args.csv).write_text(steps_csv(results.steps))
    if args.csv != "-":
        print(text(results), end="")
    if not args.data:
        import plumbline

        readme = FOLDER / "README.md"
        old = readme.read_text()
        if MARK not in old:
            raise tools.WrongInput(f"{readme}: expected a line '{MARK.strip()}'")
        readme.write_text(old[:old.index(MARK)] + MARK + "\n" + page(results))
        (FOLDER / "predictions.csv").write_text(steps_csv(results.steps))
        (FOLDER / "memory.csv").write_text(memory_csv(results.memory))
        (FOLDER / "scatter.svg").write_text(plumbline.line_picture(scatter(results.steps)))
    return 0


if __name__ == "__main__":
    tools.run(main)
