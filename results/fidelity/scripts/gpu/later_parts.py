"""What is measured once the first minutes have said how: every schedule's bits and bytes, fidelity, speed, contention, the other questions."""
import json

from fidelity import catalogue as schedules
from fidelity import experiment as experiments
from fidelity import table
from gpu.first_minutes import ask

DRY_SCHEDULES = ["gpipe", "torch-looped-bfs", "1f1b", "zb-v", "chimera", "pipemare", "pipeedge"]
SPEED = ("gpt2-small", "gpt2-medium")


def catalogue(bench, now):
    """Weights to the bit and memory to the byte over every schedule."""
    complete = schedules.run_all(bench, [*now.trained, *now.parts, *now.numbers], DRY_SCHEDULES if now.dry else None)
    lines = schedules.latest(bench)
    (bench.out / "catalogue.md").write_text(schedules.text(lines))
    for problem in schedules.problems(lines):
        bench.say(problem)
    return complete and bool(lines) and not schedules.problems(lines)


def fidelity(bench, now):
    """The experiment of gpu.json. It does not begin where virtual devices share what they should have for themselves."""
    if now.decided("fidelity") == "off":
        bench.say("fidelity: not measured, because " + bench.journal.find("decision", "fidelity")["why"])
        return False
    document = now.folder.parent / "fidelity" / ("cpu.json" if now.dry else "gpu.json")
    experiment = experiments.Experiment(document, now.dry, [*now.graphs, *now.numbers])
    complete = experiments.measure(experiment, bench, now.environment)
    within = table.make(experiment, bench)
    return complete and (within or now.dry)  # on shared processors the table is all that can be asked for


def speed(bench, now):
    """Training speed on the whole GPU: with the first algorithm of each product and with the fastest of five; where cuDNN's attention is right, with that."""
    fine = True
    trials = ["--product-table", bench.work / "products.txt", "--product-trials", 5]
    ways = [("plumbline", []), ("plumbline, timed products", trials)][:1 if now.dry else 2]
    if now.decided("attention") == "on":
        fastest = ["--attention", "fastest", "--attention-table", bench.work / "attention.txt"]
        ways += [("plumbline, attention by cuDNN", ["--attention", "cudnn"]), ("plumbline, the fastest of all", [*trials, *fastest])]
    for name in ("gpt-tiny",) if now.dry else SPEED:
        for what, more in ways:
            document, why = now.train("1f1b", "-p", 1, "-m", 2, "--network", name, "--samples", 2 if now.dry else 8, "--updates", 4 if now.dry else 18, *now.numbers, *more)
            if document is None:
                bench.say(f"{name}, {what}: {why}")
                fine = False
                continue
            row = {"network": name, "what": what, "step_ns": document["step_time_ns"], "tokens_per_s": document["tokens_per_s"]}
            with open(bench.out / "speed.jsonl", "a") as file:
                file.write(json.dumps(row) + "\n")
    return fine


def torch(bench, now):
    """The same in PyTorch, a process for each network and way, so that one that is cut off takes no other with it."""
    fine = True
    for name in ("gpt-tiny",) if now.dry else SPEED:
        for way in ("eager",) if now.dry else ("eager", "compiled", "compiled-bf16"):
            words = ["python3", now.folder / "torch_speed.py", "--network", name, "--way", way, "--samples", 2 if now.dry else 8, "--out", bench.out / "speed.jsonl"]
            fine = bench.run([*words, *(["--dry-run"] if now.dry else [])], 110).fine and fine
    return fine


def contention(bench, now):
    """All of the GPU: actions alone, then while others run; three schedules predicted with what was fitted."""
    size, network = (2, 4) if now.dry else (8, 16), ["--network", "gpt-tiny"] if now.dry else ["--network", "gpt-mini", "--samples", 8]
    more = [] if now.dry else ["--device-mode", "throughput", "--link-latency", 5, "--link-bandwidth", "50GB"]
    profile, updates = bench.work / "contention.profile.json", 4 if now.dry else 20
    devices = ["-p", size[0], "-m", size[1]]
    done = bench.plumbline("profile", "--contention", *network, *now.numbers, *now.measured, *([] if now.dry else bench.watchdog()), *more, "--stages", size[0], "-m", size[1],
                           "--rounds", 1 if now.dry else 2, "-o", profile, limit=120)
    if not done.fine:
        return False
    bench.journal.add("contention", "profile", files={"contention.profile.json": profile})
    pairs = []
    for schedule in ("1f1b", "gpipe", "zb-h1"):
        predicted, measured = bench.work / f"{schedule}.predicted.json", bench.work / f"{schedule}.measured.json"
        document, why = now.train(schedule, *devices, "--updates", updates, *network, *now.numbers, *more)
        simulated = bench.plumbline("simulate", schedule, *devices, "--updates", updates, "--profile", profile, "--transfers", "rendezvous", "--json", predicted)
        if document is None or not simulated.fine:
            bench.say(f"{schedule}: {why or 'not simulated'}")
            continue
        measured.write_text(json.dumps(document))
        bench.journal.add("contention", schedule, files={f"contention.{schedule}.measured.json": measured, f"contention.{schedule}.predicted.json": predicted})
        pairs += [predicted, measured]
    done = bench.plumbline("compare", "--ranking", *pairs, "--first-step", 1 if now.dry else 5, "--max-error", "500%" if now.dry else "5%")
    (bench.out / "contention.txt").write_text(done.text)
    return done.fine or (now.dry and done.status == 3)


def probe(bench, now):
    """The questions that decide nothing: rates, copies, links one by one and all at once, what launches cost, bits of products."""
    numbers = [3, 5, 6, 7, 8, 11, 12]
    fine = [ask(bench, now, number) for number in numbers]
    return now.dry if fine[0] is None else all(fine)
