#!/usr/bin/env python3
"""Runs the schedules of the catalogue in PyTorch's runtime by tools/examples/pytorch/run_schedule.py; writes table.csv.

    run_catalogue.py OUT [--run COMMAND] [--plumbline COMMAND] [--devices 4] [--only NAME,NAME]

COMMAND starts run_schedule.py (default: python3 with the modules of paced.py); ORDER.csv and --out are added to it. Every
pass of a device takes 10 ms. Predictions are made with the profile of the 1f1b run of the same number of devices
(`plumbline trace --profile`). OUT/table.csv has a row per schedule; rows of what is not run now stay. --markdown prints
it as tables; --predict runs nothing and predicts the runs in OUT again.
"""
import argparse
import csv
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "..", "tools", "examples", "pytorch")
COLUMNS = ["schedule", "devices", "microbatches", "result", "largest_difference", "equal_to_the_bit", "parameters",
           "order_as_given", "step_ms", "traced_ms", "predicted_ms", "error_percent"]
PASS_MS = 10


class Runner:
    def __init__(self, options, devices):
        self.options, self.devices = options, devices

    def plumbline(self, *arguments):
        return subprocess.run([*shlex.split(self.options.plumbline), *arguments], capture_output=True, text=True)

    def exported(self, name):
        """The file of the schedule and its microbatches; or the reason why there is none."""
        for microbatches in (2 * self.devices, 4 * self.devices):
            path = os.path.join(self.options.out, f"{name}-p{self.devices}.csv")
            done = self.plumbline("schedule", name, "-p", str(self.devices), "-m", str(microbatches),
                                  "--format", "torch-comms", "-o", path)
            if done.returncode == 0:
                return path, microbatches, None
        return None, 2 * self.devices, done.stderr.strip().split(": ", 2)[-1].split("PyTorch CSV: ")[-1]

    def predicted_ms(self, path, name, traces):
        """Predicted with what the 1f1b run's actions, host, calls and messages took."""
        profile = os.path.join(self.options.out, f"profile-p{self.devices}.json")
        if name == "1f1b":
            self.plumbline("trace", *traces, "--summary", "--profile", profile)
        predicted = os.path.join(self.options.out, "predicted.json")
        self.plumbline("simulate", path, "--profile", profile, "--summary", "--json", predicted)
        return step_ms(predicted)

    def row(self, name):
        path, microbatches, reason = self.exported(name)
        row = {"schedule": name, "devices": self.devices, "microbatches": microbatches}
        if reason:
            return {**row, "result": reason}
        folder = os.path.join(self.options.out, f"{name}-p{self.devices}")
        shutil.rmtree(folder, ignore_errors=True)
        environment = {**os.environ, "PACE": ",".join([str(PASS_MS * self.devices)] * 3)}
        command = [*shlex.split(self.options.run), path, "--out", folder, "--traced", "3"]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
        except subprocess.TimeoutExpired:
            return {**row, "result": "hangs"}
        if not os.path.exists(os.path.join(folder, "result.json")):
            errors = [line for line in done.stderr.splitlines() if "Error" in line]
            return {**row, "result": "fails: " + (errors or ["?"])[0]}
        ran = json.load(open(os.path.join(folder, "result.json")))
        good = ran["gradients_equal"] and all(ran["order_as_given"])
        row |= {"result": "ran" if good else "DIFFERS", "largest_difference": f"{ran['largest_difference']:.2g}",
                "equal_to_the_bit": ran["equal_to_the_bit"], "parameters": ran["parameters"],
                "order_as_given": "yes" if all(ran["order_as_given"]) else "no",
                "step_ms": f"{statistics.median(ran['step_ns']) / 1e6:.1f}"}
        return self.with_prediction(row)

    def with_prediction(self, row):
        """The row with the traced step of its run in OUT and the predicted one; without a trace, the row as it is."""
        name = row["schedule"]
        path, folder = (os.path.join(self.options.out, f"{name}-p{self.devices}{end}") for end in (".csv", ""))
        if not os.path.exists(os.path.join(folder, "result.json")):
            return row
        traces = [os.path.join(folder, os.path.basename(trace))
                  for trace in json.load(open(os.path.join(folder, "result.json")))["traces"]]
        measured = os.path.join(folder, "measured.json")
        self.plumbline("trace", *traces, "--json", measured, "--summary")
        traced, expected = step_ms(measured), self.predicted_ms(path, name, traces)
        return row | {"traced_ms": f"{traced:.1f}", "predicted_ms": f"{expected:.1f}",
                      "error_percent": f"{100 * (expected / traced - 1):+.1f}"}


def step_ms(path):
    return json.load(open(path))["makespan_ns"] / 1e6


def markdown(rows):
    """The rows that ran, and the others by reason."""
    print("| schedule | devices x microbatches | gradients differ by | equal to the bit | order as given | step, ms | traced | "
          "predicted | error |\n|---|---|---:|---:|---|---:|---:|---:|---:|")
    reasons = {}
    for row in rows:
        if row["result"] not in ("ran", "DIFFERS"):
            reasons.setdefault(row["result"], []).append(f"`{row['schedule']}`")
            continue
        print(f"| `{row['schedule']}` | {row['devices']} x {row['microbatches']} | {row['largest_difference']} | "
              f"{row['equal_to_the_bit']} of {row['parameters']} | {row['order_as_given']} | {row['step_ms']} | "
              f"{row['traced_ms']} | {row['predicted_ms']} | {row['error_percent']} % |")
    print("\n| not run, because | schedules |\n|---|---|")
    for reason, names in reasons.items():
        print(f"| {reason} | {', '.join(names)} |")


def write_table(path, rows):
    with open(path, "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def predict_again(options):
    path = os.path.join(options.out, "table.csv")
    rows = list(csv.DictReader(open(path)))  # 1f1b comes first of its number of devices
    write_table(path, [Runner(options, int(row["devices"])).with_prediction(row) for row in rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--run", default=f"{sys.executable} {EXAMPLES}/run_schedule.py --model {EXAMPLES}/paced.py")
    parser.add_argument("--plumbline", default="plumbline")
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--only", default="", help="names, 1f1b first (default: the whole catalogue)")
    parser.add_argument("--predict", action="store_true", help="run nothing; predict the runs in OUT again")
    parser.add_argument("--markdown", action="store_true", help="run nothing; print OUT/table.csv as tables")
    options = parser.parse_args()
    if options.markdown:
        return markdown(list(csv.DictReader(open(os.path.join(options.out, "table.csv")))))
    if options.predict:
        return predict_again(options)
    os.makedirs(options.out, exist_ok=True)
    runner = Runner(options, options.devices)
    listed = runner.plumbline("schedules").stdout.splitlines()[1:]
    names = options.only.split(",") if options.only else [line.split()[0] for line in listed if line[:1].isalnum()]
    names = ["1f1b"] + [name for name in names if name != "1f1b"]
    path = os.path.join(options.out, "table.csv")
    old = list(csv.DictReader(open(path))) if os.path.exists(path) else []
    rows = [row for row in old if int(row["devices"]) != options.devices or row["schedule"] not in names]
    for name in names:
        rows.append(runner.row(name))
        print(*(rows[-1].get(column, "") for column in COLUMNS), flush=True)
        write_table(path, rows)


if __name__ == "__main__":
    main()
