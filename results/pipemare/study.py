#!/usr/bin/env python3
"""Reproduces the PipeMare paper: utilization and memory by formula and by simulation, and model quality by training
(methods x tasks x learning rates x seeds, see README.md). Runs that runs.csv in the output folder already has are not
repeated, so a study that was stopped goes on where it was.

    ./plumbline reproduce pipemare [options]       (with the Python module of the source tree)
    python3 results/pipemare/study.py [options]    (with an installed one)
"""
import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import study_tools as tools


def arguments():
    parser = argparse.ArgumentParser(prog="plumbline reproduce pipemare", description=__doc__.split("\n\n")[0])
    parser.add_argument("--model-only", action="store_true", help="simulate only, do not train")
    parser.add_argument("--report-only", action="store_true", help="do not train; report on the runs of runs.csv")
    parser.add_argument("--again", action="store_true", help="repeat the runs of runs.csv")
    parser.add_argument("--network", default="resnet-50-cifar", metavar="NAME|FILE",
                        help="model for utilization and memory (default: resnet-50-cifar)")
    parser.add_argument("--study", type=pathlib.Path, default=tools.RESULTS / "pipemare/study.json", metavar="FILE",
                        help="methods, tasks and seeds to train (default: results/pipemare/study.json)")
    parser.add_argument("--task", action="append", default=[], metavar="NAME", help="train this task only")
    parser.add_argument("--method", action="append", default=[], metavar="NAME", help="train this method only")
    parser.add_argument("--seeds", type=int, metavar="N", help="at most so many seeds of each setting")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="runs at once (default: as many as there are cores)")
    parser.add_argument("--minutes", type=float, default=0, metavar="X", help="start no run after this many minutes")
    parser.add_argument("--cluster", action="append", default=[], metavar="NAME|FILE",
                        help="simulate the time to the target on this cluster (default: as in the study)")
    parser.add_argument("--output", "-o", type=pathlib.Path, metavar="DIR",
                        help="folder for runs.csv, tables and pictures (default: results/pipemare; with --model-only: none)")
    parser.add_argument("--json", metavar="FILE", help="write means, intervals and gaps as JSON (- is standard output)")
    return parser.parse_args()


def trained(args, folder):
    """Reads the runs that are there and trains what is missing."""
    from runs import Study, read_runs, runs_csv, train_missing

    study = Study(json.loads(args.study.read_text()))
    for names, rows, what in ((args.task, study.tasks, "task"), (args.method, study.methods, "method")):
        for name in names:
            tools.known(name, [row.name for row in rows], what)
    path = folder / "runs.csv"
    kept = read_runs(path.read_text(), str(path)) if path.exists() and not args.again else []
    others = [run for run in kept if not study.is_run_of(run)]
    if others:
        tools.progress(f"note: {path}: {len(others)} runs were made by other commands than those of the study; they are "
                       "kept, but not used")
    study.set_runs(run for run in kept if study.is_run_of(run))
    if not args.report_only:
        train_missing(study, args.jobs, args.minutes, lambda runs: path.write_text(runs_csv([*runs, *others])),
                      tasks=args.task, methods=args.method, seeds=args.seeds)
    return study


def write_folder(folder, models, study, clusters):
    import figures
    import plumbline
    import practice

    pictures = dict(models.plots)
    (folder / "model.md").write_text(models.page())
    for task in study.tasks if study else []:
        if study.has_runs(task):
            pictures[task.name] = figures.quality_plot(study, task)
            pictures[task.name + "-loss"] = figures.loss_plot(study, task)
            rates = figures.rates_plot(study, task)
            if any(len(line["x"]) > 1 for line in rates["series"]):
                pictures[task.name + "-rates"] = rates
    for name, plot in pictures.items():
        (folder / f"{name}.svg").write_text(plumbline.line_picture(plot))
    if study and study.runs:
        (folder / "training.md").write_text(figures.training_page(study))
        (folder / "practice.md").write_text(practice.page(models, study, clusters))


def main():
    args = arguments()
    folder = args.output or (None if args.model_only else tools.RESULTS / "pipemare")
    import figures
    from models import Models

    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    models = Models(args.network)
    study = None if args.model_only else trained(args, folder)
    if folder:
        write_folder(folder, models, study, args.cluster)
    document = {"format": "plumbline-pipemare", "version": 1, "model": models.document()}
    if study:
        document["training"] = figures.document(study)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if args.json == "-":
        print(text, end="")
        return 0
    if args.json:
        pathlib.Path(args.json).write_text(text)
    print(models.text() + ("\n" + figures.text(study) if study and study.runs else ""), end="")
    return 3 if study and any(run.error for run in study.runs) else 0


if __name__ == "__main__":
    tools.run(main)
