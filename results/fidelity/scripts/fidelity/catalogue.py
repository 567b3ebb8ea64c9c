"""Every schedule of the catalogue, held to the bit and to the byte.

Weights: two schedules that add gradients up in the same order give the same weights, and only they do. Which ones these are follows from
runs without concurrency in float32 on the CPU; on the back end that is checked, in its numbers, the same ones must be equal. A schedule
that shares its weights with no other runs twice, the second time launched the other way (op graphs, plain launches) where there are two. What
changes weights between updates trains in float32 only. Memory: the peak of every device, class by class, equals what is predicted. Refused
schedules are listed with the reason.
"""
import json
import os
from collections import defaultdict

from fidelity.bench import OutOfTime

NETWORK, DEVICES, UPDATES = "gpt-tiny", 4, 2
MICROBATCHES = (8, 12)  # the first that a schedule takes
STAGES = (4, 8, 2)  # of the profiles that memory is predicted with, and orders are searched for; a schedule takes the first of its size
REFERENCE = ("--backend", "cpu", "--executor", "serial")
FULL_ONLY = "which bf16 has twice; expected float32"  # how the program refuses such a schedule


def train(bench, name, microbatches, flags):
    """(hash of the weights, timeline document) of a run, or (None, the error)."""
    path = bench.work / "schedule.json"
    path.unlink(missing_ok=True)
    done = bench.plumbline("train", name, "-p", DEVICES, "-m", microbatches, "--updates", UPDATES, "--network", NETWORK, *flags, "--json", path)
    if not done.fine:
        return None, last_error(bench) or f"exit status {done.status}"
    document = json.loads(path.read_text())
    return document["training"]["weights_hash"], document


def last_error(bench):
    """What the last command said why not."""
    with open(bench.out / "log.txt", "rb") as file:
        file.seek(max(0, os.path.getsize(bench.out / "log.txt") - 4000))
        errors = [line for line in file.read().decode(errors="replace").split("\n") if "error: " in line]
    return errors[-1].split("error: ", 1)[1] if errors else ""


def peaks(document):
    return [device["peak_memory_by_class"] for device in document["devices"]]


def predict(bench, profiles, name, microbatches):
    """(the profile of the schedule's size, its predicted peaks), or (None, why not)."""
    path, reason = bench.work / "memory.json", ""
    for profile in profiles:
        done = bench.plumbline("simulate", name, "-p", DEVICES, "-m", microbatches, "--updates", UPDATES, "--profile", profile, "--transfers", "rendezvous", "--json", path)
        if done.fine:
            return profile, peaks(json.loads(path.read_text()))
        reason = reason or last_error(bench)
    return None, reason


def hold(bench, profiles, name, flags):
    """Runs one schedule and keeps what it gave. The order of some is searched for the times of a profile: all three then get the same."""
    for microbatches in MICROBATCHES:
        profile, predicted = predict(bench, profiles, name, microbatches)
        order = ["--profile", profile] if profile else []
        expected, reason = train(bench, name, microbatches, [*REFERENCE, *order])
        if expected:
            break
    else:
        return bench.journal.add("schedule", name, refused=reason)
    found, document = train(bench, name, microbatches, [*flags, *order, *bench.watchdog()])
    numbers = {}
    if not found and document.endswith(FULL_ONLY):
        found, document = train(bench, name, microbatches, [*in_full(flags), *order, *bench.watchdog()])
        numbers, profile, predicted = {"numbers": "float32"}, None, "trains in float32, the profile is of bf16"
    if not found:
        return bench.journal.add("schedule", name, reference=expected, error=document)
    memory = f"not predicted: {predicted}" if profile is None else "equal" if predicted == peaks(document) else "differs"
    return bench.journal.add("schedule", name, reference=expected, weights=found, microbatches=microbatches, memory=memory, **numbers)


def in_full(flags):
    """The flags for float32, which is what runs without --numbers have."""
    at = flags.index("--numbers") if "--numbers" in flags else len(flags)
    return [*flags[:at], *flags[at + 2:]]


def launched_otherwise(flags):
    """The flags for plain launches instead of op graphs, or the other way round; the same flags on back ends that launch nothing."""
    if "cuda" not in flags:
        return flags
    return [word for word in flags if word != "--no-graphs"] if "--no-graphs" in flags else [*flags, "--no-graphs"]


def make_profiles(bench, flags):
    flags = [*flags, *bench.watchdog()] if "cuda" in flags else [word for word in flags if word not in ("--executor", "streams")]
    paths = []
    for stages in STAGES:
        path = bench.work / f"catalogue{stages}.json"
        if bench.plumbline("profile", "--network", NETWORK, *flags, "--stages", stages, "--devices", min(stages, DEVICES), "-m", 4, "--rounds", 1, "--calm", "-o", path).fine:
            paths.append(path)
    return paths


def run_all(bench, flags, names=None):
    """Runs what is not in the journal yet; False when the time was over first."""
    names = names or bench.plumbline("schedules", "--names").text.split()
    left = [name for name in names if not bench.journal.find("schedule", name)]
    try:
        profiles = make_profiles(bench, flags) if left else []
        for name in left:
            hold(bench, profiles, name, flags)
        for line in alone(bench):
            if "again" not in line:
                again = run_again(bench, line, flags)
                bench.journal.add("schedule", **{key: value for key, value in line.items() if key != "kind"}, again=again)
    except OutOfTime:
        return False
    return True


def run_again(bench, line, flags):
    """The weights of a second run, launched the other way; the reason where there are none."""
    flags = [*launched_otherwise(flags), *bench.watchdog()]
    again, why = train(bench, line["name"], line["microbatches"], flags)
    if not again and why.endswith(FULL_ONLY):
        again, why = train(bench, line["name"], line["microbatches"], in_full(flags))
    return again or why


def latest(bench):
    return list({line["name"]: line for line in bench.journal.all("schedule")}.values())


def alone(bench):
    """Lines of the schedules whose weights no other schedule shares."""
    groups = defaultdict(list)
    for line in latest(bench):
        if line.get("weights"):
            groups[expected_of(line)].append(line)
    return [lines[0] for lines in groups.values() if len(lines) == 1]


def expected_of(line):
    """Lines that are alike in this have the same weights, and only they have."""
    return line["reference"], line.get("numbers")


def problems(lines):
    """What is not equal though it should be, or equal though it should not; nothing when all is well."""
    found, of, back = [], {}, {}
    for line in lines:
        name = line["name"]
        if line.get("error"):
            found.append(f"{name}: {line['error']}")
        if not line.get("weights"):
            continue
        first = of.setdefault(expected_of(line), line)
        if first["weights"] != line["weights"]:
            found.append(f"{name}: weights {line['weights']}, expected {first['weights']} as {first['name']} has them")
        other = back.setdefault(line["weights"], line)
        if expected_of(other) != expected_of(line):
            found.append(f"{name}: weights are those of {other['name']}, though their gradients are added in different orders")
        if "again" in line and line["again"] != line["weights"]:
            found.append(f"{name}: weights {line['again']} the second time, expected {line['weights']}")
        if line["memory"] == "differs":
            found.append(f"{name}: peak memory is not what was predicted")
    return found


def text(lines):
    ran = [line for line in lines if line.get("weights")]
    groups = {}
    for line in ran:
        groups.setdefault(line["weights"], []).append(line["name"])
    rows = [f"{len(ran)} schedules ran, weights equal to the bit in {sum(len(names) > 1 for names in groups.values())} groups "
            f"({sum(len(names) for names in groups.values() if len(names) > 1)} schedules), {sum(len(names) == 1 for names in groups.values())} with weights of their own "
            f"({sum('again' in line for line in ran)} of them run twice); memory equal to the byte: {sum(line['memory'] == 'equal' for line in ran)} of {len(ran)}.", "",
            "| weights | schedules |", "|---|---|"]
    rows += [f"| `{weights}` | {', '.join(names)} |" for weights, names in groups.items()]
    for title, key in (("refused", "refused"), ("not predicted", "memory")):
        rows += [f"| {title} | {line['name']}: {line[key].split(': ', 1)[-1]} |" for line in lines if line.get(key) and (key == "refused" or title in line[key])]
    return "\n".join([*rows, *("PROBLEM " + problem for problem in problems(lines))]) + "\n"
