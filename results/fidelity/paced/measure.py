#!/usr/bin/env python3
"""Runs schedules on the back end paced and compares them with their predictions.

    results/fidelity/paced/measure.py OUT [--only NAME,NAME] [--parts catalogue,wide,modes,processes] [--rounds 3]
    results/fidelity/paced/measure.py --table runs.csv

Writes OUT/runs.csv and prints what it measures; with --table, prints the tables of README.md. All predictions for P devices are made
with two numbers that are measured in one run of 1F1B: host time per action, and how late a device that waits sees a message.
"""
import argparse
import csv
import itertools
import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
PROGRAM = os.environ.get("PLUMBLINE", os.path.join(ROOT, "plumbline"))
NETWORK = os.path.join(HERE, "network.json")
STEADY = ["chrt", "-r", "20"] if subprocess.run(["chrt", "-r", "20", "true"], capture_output=True).returncode == 0 else []
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np"]

PASS_NS = 6_000_000  # F, I and W of a device's layers
UPDATE_NS = 1_500_000
COPY_NS = 1_000_000  # of a device's stashes of a microbatch to the host, or back
UNDISTURBED_S = 0.002  # a run counts when no thread of the machine's watchers was woken later than this
LATENCY_NS = 500_000
MESSAGE_NS = 500_000  # sending, besides the latency
WIDE = "gpipe 1f1b eager-1f1b zb-h1 zb-h2 interleaved hanayo chimera zb-v dualpipev pipedream pipemare".split()
MODES = "buffered fifo rendezvous blocking batched pair-fifo".split()
IN_MODES = "gpipe 1f1b zb-h1 interleaved zb-v".split()
IN_PROCESSES = "1f1b zb-h1 interleaved chimera pipedream-2bw".split()
# Options and microbatches per device: the first that a schedule accepts, and with which it runs.
SIZES = [([], 2), (["-v", "2"], 2), ([], 4), ([], 1), (["-v", "2"], 4)]


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, **more)


def reason(result):
    lines = [line for line in result.stderr.strip().splitlines() if "bind" not in line and line.strip()]
    return lines[-1] if lines else f"exit status {result.returncode}"


class Watchers:
    """On every processor a process that only sleeps, and notes how late it is woken: whether the machine lets threads run when they should.
    (When processes in real time fill a processor, Linux stops all of them, those of a run too, for 50 ms of every second.)"""

    def __init__(self):
        self.late = []
        for processor in sorted(os.sched_getaffinity(0)):
            late = multiprocessing.Value("d", 0.0)
            multiprocessing.Process(target=self.watch, args=(processor, late), daemon=True).start()
            self.late.append(late)

    @staticmethod
    def watch(processor, late):
        os.sched_setaffinity(0, {processor})
        if STEADY:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(21))
        while True:
            begin = time.monotonic()
            time.sleep(0.002)
            late.value = max(late.value, time.monotonic() - begin - 0.002)

    def begin(self):
        for late in self.late:
            late.value = 0.0

    def latest(self):
        return max(late.value for late in self.late)


def layer_count():
    count = 0
    for layer in json.load(open(NETWORK))["layers"]:
        count += layer.get("repeat", 1) * len(layer.get("layers", [0]))
    return count


def profile(path, stages, devices, message_bytes, host_ns=0, hop_ns=0):
    """A profile in which a device takes PASS_NS for a pass of all its stages; they share it equally."""
    blocks = layer_count() - 2
    bounds = [0] + [1 + blocks * s // stages for s in range(1, stages)] + [blocks + 2]
    share = max(1, stages / devices)

    def time(ns):
        value = round(ns / share) + host_ns
        return {"median": value, "p10": value, "p90": value, "n": 1}

    rows = [{"layers": bounds[s:s + 2], "f_ns": time(PASS_NS), "b_ns": time(2 * PASS_NS), "i_ns": time(PASS_NS), "w_ns": time(PASS_NS),
             "r_ns": time(PASS_NS), "u_ns": time(UPDATE_NS), "evict_ns": time(COPY_NS), "load_ns": time(COPY_NS)} for s in range(stages)]
    for row in rows:
        for copy in ("evict_ns", "load_ns"):
            row[copy] = {key: value - host_ns * (key != "n") for key, value in row[copy].items()}
    network = json.load(open(NETWORK))
    document = {"format": "plumbline-profile", "version": 1, "machine": "given times", "backend": "paced", "network": network["name"],
                "samples": network["samples"], "sequence": network["sequence"],
                "precision": {"activation_bytes": 4, "weight_bytes": 4, "gradient_bytes": 4, "optimizer_bytes": 8}, "stages": rows,
                "transfers": [{"bytes": message_bytes, "latency_ns": LATENCY_NS + hop_ns, "bytes_per_s": message_bytes * 1e9 / MESSAGE_NS}]}
    json.dump(document, open(path, "w"))
    return path


class Bench:
    def __init__(self, out, rounds):
        self.out, self.rounds, self.rows = out, rounds, []
        self.watchers, self.patience, self.disturbed, self.given_up = Watchers(), 6, 0, 0
        network = json.load(open(NETWORK))
        self.message_bytes = network["samples"] * network["sequence"] * network["width"] * 4

    def document(self, name, devices, size=SIZES[0]):
        """The schedule as a file, so that prediction and run have the same order: its path, and the command or what was refused."""
        path = os.path.join(self.out, f"{name}-{devices}.json")
        options, per_device = size
        words = [name, "-p", str(devices), *options, "-m", str(per_device * devices)]
        made = run([PROGRAM, "schedule", *words, "--format", "json", "-o", path])
        return (path, " ".join(words)) if made.returncode == 0 else (None, reason(made))

    def profiles(self, path, devices, host, hop):
        stages = json.load(open(path))["num_stages"]
        given = profile(os.path.join(self.out, f"given-{stages}.json"), stages, devices, self.message_bytes)
        known = profile(os.path.join(self.out, f"known-{stages}.json"), stages, devices, self.message_bytes, host, hop)
        return given, known

    def predict(self, path, costs, mode):
        done = run([PROGRAM, "simulate", path, "--profile", costs, "--network", NETWORK, "--transfers", mode, "--json", "-"])
        return (json.loads(done.stdout), "") if done.returncode == 0 else (None, reason(done))

    def train(self, path, costs, mode, processes=0):
        words = [*STEADY, PROGRAM, "train", path, "--backend", "paced", "--profile", costs, "--network", NETWORK, "--transfers", mode]
        if processes:
            words = [*MPIRUN, str(processes), *words, "--transport", "mpi"]
        asynchronous = "asynchronous" in self.kinds.get(json.load(open(path)).get("name", ""), "")
        words += [] if asynchronous else ["--steps", str(2 * json.load(open(path)).get("updates", 1))]
        for last in range(self.patience - 1, -1, -1):
            self.watchers.begin()
            done = run([*words, "--json", "-"])
            if self.watchers.latest() < UNDISTURBED_S or done.returncode != 0:
                break
            self.disturbed += last > 0
            self.given_up += last == 0
        start = done.stdout.find('{"format"')
        return (json.loads(done.stdout[start:]), "") if done.returncode == 0 else (None, reason(done))

    @property
    def kinds(self):
        if not hasattr(self, "known_kinds"):
            lines = run([PROGRAM, "schedules"]).stdout.splitlines()[1:]
            self.known_kinds = {line.split()[0]: line for line in lines if line.strip() and not line.startswith("`")}
        return self.known_kinds

    def calibrate(self, devices):
        """Host time per action, and how late a message is seen, from one run of 1F1B."""
        path, _ = self.document("1f1b", devices)
        given, _ = self.profiles(path, devices, 0, 0)
        timeline, why = self.train(path, given, "buffered")
        if timeline is None:
            sys.exit(why)
        late, hops = [], []
        for device in range(devices):
            spans = [s for s in timeline["spans"] if s["device"] == device and s["lane"] == "compute"]
            for before, span in zip([None, *spans], spans):
                op = span["action"].lstrip("0123456789")[0]
                took = {"F": PASS_NS, "B": 2 * PASS_NS, "U": UPDATE_NS}[op]
                gap = span["idle_before_ns"] if before and span["waited_for"] == "overhead" else 0
                late.append(span["end_ns"] - span["start_ns"] - took + gap)
        sent = {(s["action"].split(">")[0], s["device"]): s["end_ns"] for s in timeline["spans"] if s["lane"] == "transfer"}
        starts = {s["action"]: s["start_ns"] for s in timeline["spans"] if s["lane"] == "compute"}
        waited = {s["action"]: s["idle_before_ns"] for s in timeline["spans"] if s["lane"] == "compute"}
        for (action, _), end in sent.items():
            stage, rest = action.split("SEND_")
            taker = f"{int(stage) + (1 if rest[0] == 'F' else -1)}{rest}"
            if waited.get(taker, 0) > LATENCY_NS:
                hops.append(starts[taker] - end - LATENCY_NS)
        host, hop = round(statistics.mean(late)), max(0, round(statistics.median(hops)))
        print(f"P = {devices}: host time {host / 1e3:.0f} us per action, messages seen {hop / 1e3:.0f} us late", flush=True)
        return host, hop

    def measure(self, part, name, devices, host, hop, mode="buffered", processes=0):
        """The row of the first size with which the schedule runs, or of the reason why it does not with the first one."""
        refused = None
        for size in SIZES:
            row = {"part": part, "schedule": name, "devices": devices, "command": name, "transfers": mode}
            self.try_size(row, size, host, hop, processes)
            refused = refused or row
            if "refused" not in row or part != "catalogue":
                break
        else:
            row = refused
        self.rows.append(row)
        self.save()
        says = f"refused: {row['refused']}" if "refused" in row else (
            f"{row['predicted_ms']:9.2f} {row['measured_ms']:9.2f} {row['error_percent']:+6.2f} % (spread {row['spread_percent']:.2f} %) "
            f"bytes {'equal' if row['bytes_equal'] else 'DIFFER'}{' (disturbed)' if row['disturbed'] else ''}")
        print(f"{part:10} {name:26} {mode:10} {says}", flush=True)

    def save(self):
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        with open(os.path.join(self.out, "runs.csv"), "w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()} for row in self.rows)

    def try_size(self, row, size, host, hop, processes):
        name, devices, mode = row["schedule"], row["devices"], row["transfers"]
        path, words = self.document(name, devices, size)
        if path is None:
            return self.refuse(row, words)
        row["command"] = words
        given, known = self.profiles(path, devices, host, hop)
        predicted, why = self.predict(path, known, mode)
        if predicted is None:
            return self.refuse(row, why)
        steps, equal, given_up = [], True, self.given_up
        for _ in range(self.rounds):
            measured, why = self.train(path, given, mode, processes)
            if measured is None:
                return self.refuse(row, why)
            steps.append(measured["step_time_ns"])
            peaks = [[(d["peak_memory_bytes"], d["peak_activations"]) for d in t["devices"]] for t in (predicted, measured)]
            equal = equal and peaks[0] == peaks[1]
        median = statistics.median(steps)
        row |= {"predicted_ms": predicted["step_time_ns"] / 1e6, "measured_ms": median / 1e6,
                "error_percent": 100 * (predicted["step_time_ns"] / median - 1),
                "spread_percent": 100 * (max(steps) - min(steps)) / median,
                "disturbed": self.given_up > given_up, "peak_bytes": max(d["peak_memory_bytes"] for d in predicted["devices"]), "bytes_equal": equal}

    def refuse(self, row, why):
        row["refused"] = why.replace(self.out + "/", "").removeprefix("plumbline: error: ")


def wrong_pairs(rows):
    """Pairs predicted more than 2 % apart, and those among them that were measured the other way round."""
    pairs = wrong = 0
    for i, a in enumerate(rows):
        for b in rows[:i]:
            fast, slow = sorted((a, b), key=lambda r: r["predicted_ms"])
            if slow["predicted_ms"] > 1.02 * fast["predicted_ms"]:
                pairs += 1
                wrong += fast["measured_ms"] > slow["measured_ms"]
    return pairs, wrong


def summary(rows):
    for part in dict.fromkeys(r["part"] for r in rows):
        ran = [r for r in rows if r["part"] == part and "measured_ms" in r]
        errors = [abs(r["error_percent"]) for r in ran]
        if not errors:
            continue
        same = [r for r in ran if r["transfers"] == ran[0]["transfers"]] if part != "modes" else ran
        pairs, wrong = wrong_pairs(same)
        print(f"{part}: {len(ran)} ran, mean error {statistics.mean(errors):.2f} %, worst {max(errors):.2f} %, within 1 %: "
              f"{sum(e <= 1 for e in errors)}; bytes equal in {sum(r['bytes_equal'] for r in ran)}; {wrong} of {pairs} pairs in the wrong order")


def print_tables(path):
    """Markdown of a runs.csv."""
    for part, rows in itertools.groupby(csv.DictReader(open(path)), key=lambda row: row["part"]):
        print(f"\n{part}\n\n| schedule | messages | predicted (ms) | measured (ms) | error | spread | peak bytes | bytes equal |")
        print("|---|---|---:|---:|---:|---:|---:|---|")
        for row in rows:
            if row["refused"]:
                print(f"| `{row['command']}` | {row['transfers']} | | | | | | refused: {row['refused']} |")
                continue
            print(f"| `{row['command']}` | {row['transfers']} | {float(row['predicted_ms']):.1f} | {float(row['measured_ms']):.1f} | "
                  f"{float(row['error_percent']):+.2f} % | {float(row['spread_percent']):.2f} % | {row['peak_bytes']} | "
                  f"{'yes' if row['bytes_equal'] == 'True' else 'no'}{'; disturbed' if row['disturbed'] == 'True' else ''} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?", default="paced")
    parser.add_argument("--table", metavar="CSV")
    parser.add_argument("--only", default="")
    parser.add_argument("--parts", default="catalogue,wide,modes,processes")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.table:
        return print_tables(given.table)
    os.makedirs(given.out, exist_ok=True)
    bench = Bench(os.path.abspath(given.out), given.rounds)
    parts = given.parts.split(",")
    host, hop = bench.calibrate(8)
    for name in bench.kinds if "catalogue" in parts else []:
        if not given.only or name in given.only.split(","):
            bench.measure("catalogue", name, 8, host, hop)
    for name in IN_MODES if "modes" in parts else []:
        for mode in MODES:
            bench.measure("modes", name, 8, host, hop, mode)
    for name in IN_PROCESSES if "processes" in parts and shutil.which("mpirun") else []:
        for mode in ("buffered", "rendezvous"):
            bench.measure("processes", name, 8, host, hop, mode, processes=8)
    if "wide" in parts:
        host, hop = bench.calibrate(32)
        for name in WIDE:
            bench.measure("wide", name, 32, host, hop)
    summary(bench.rows)
    print(f"{bench.disturbed} runs repeated, and {bench.given_up} counted nevertheless, during which the machine woke a thread more than "
          f"{1e3 * UNDISTURBED_S:.0f} ms late")


if __name__ == "__main__":
    main()
