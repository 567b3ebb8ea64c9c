"""The first five minutes on a new machine: what works, and what way is taken around what does not.

Each part says whether it is well. Whatever it finds, it decides how later parts run (Situation), so that none of them needs it to be well.
"""
import shutil
import statistics

CPU_LIMIT, HALF_LIMIT, MODES_LIMIT = 1e-4, 1e-2, 0.005
SMALL = ("-p", 2, "-m", 8, "--network", "gpt-tiny", "--steps", 3)
MODES_ROUNDS = 3
NO_GRAPHS = ("(no op graphs:", "without op graphs (")
BAD_SIGNS = ("share all SMs", "share a hardware queue")


def machine(bench, now):
    """What is there. A driver or a library that is missing is said here, not guessed from later failures."""
    if shutil.which("nvidia-smi"):
        (bench.out / "smi.txt").write_text(bench.run(["nvidia-smi", "-q"], 10).text)
    version = bench.plumbline("version", limit=15)
    bench.journal.add("machine", "version", text=version.text)
    return version.fine and (now.dry or "cuda" in version.text)


def ask(bench, now, question, environment=None):
    """An answer of the probe, kept; None where there is no probe."""
    probe = bench.program.rsplit("/", 1)[0] + "/plumbline-gpu-probe"
    if not shutil.which(probe):
        return None
    done = bench.run([probe, *(["--dry-run"] if now.dry else []), "--only", question], 25, environment)
    bench.journal.add("answer", str(question), status=done.status, text=done.text, **(environment or {}))
    return done.fine


def groups(bench, now):
    """Questions 1, 2, 4, 9. Without parts of the GPU there is no fidelity, but speed, kernels and bits on one device."""
    fine = {question: ask(bench, now, question) for question in (1, 2, 4, 9)}
    ask(bench, now, 4, {"CUDA_DEVICE_MAX_CONNECTIONS": "8"})
    if fine[1] is None:
        bench.say("no probe beside the program (bundle.sh makes one)")
        return now.dry
    if not fine[1] or not fine[2]:
        now.decide("fidelity", "off", "the driver makes no parts of the GPU (questions 1 and 2)")
    if not fine[9]:
        now.decide("graphs", "off", "captured graphs do not run on a part (question 9)")
    return all(fine.values())


def kernels(bench, now):
    """The kernels beside the CPU's layers on the device itself, then attention and a step under compute-sanitizer."""
    test = bench.program.rsplit("/", 1)[0] + "/gpu_test"
    if not shutil.which(test):
        bench.say("no gpu_test beside the program")
        return now.dry
    if not bench.run([test, "-tse=cudnn*"], 50).fine:  # the parts `attention` and `convolutions` have those suites
        now.decide("numbers", "float32", "gpu_test failed")
        return False
    sanitizer = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not sanitizer:
        bench.say("no compute-sanitizer on this machine")
        return True
    step = [bench.program, "train", "1f1b", "-p", "1", "-m", "1", "--network", "gpt-tiny", "--steps", "1", *now.trained, "--no-graphs", *now.numbers]
    watched = (("memcheck", [test, "-tc=*heads of 64*"]), ("racecheck", step))
    return all([bench.run([sanitizer, "--tool", tool, "--error-exitcode", "9", *words], 40).fine for tool, words in watched])


def worst_difference(a, b):
    return max(abs(x - y) / abs(x) for x, y in zip(a["training"]["losses"], b["training"]["losses"]))


def held(bench, name, ours, reference, limit):
    """Whether two runs have the same losses, within `limit`."""
    if ours is None or reference is None:
        return False
    worst = worst_difference(reference, ours)
    bench.say(f"{name}: losses differ by at most {worst:.2e}, expected {limit:.0e}")
    bench.journal.add("losses", name, worst=worst, limit=limit)
    return worst <= limit


def oracle(bench, now):
    """float32 beside the CPU; then bf16 beside float32 at real sizes: heads of width 64 and 128, several tiles."""
    fine = True
    for schedule in ("1f1b", "zb-h1"):
        reference, _ = now.train(schedule, *SMALL, flags=["--backend", "cpu", "--executor", "serial"])
        ours, _ = now.train(schedule, *SMALL)
        fine = held(bench, f"{schedule} beside the CPU", ours, reference, CPU_LIMIT) and fine
    half = ["--numbers", "bf16"]
    for name, more in () if now.dry else (("gpt2-small", ()), ("llama-128", ())):
        network = wide_heads(bench) if name == "llama-128" else name
        words = ("1f1b", "-p", 1, "-m", 1, "--network", network, "--samples", 1, "--steps", 3, *more)
        full, _ = now.train(*words)
        rough, _ = now.train(*words, *half)
        if not held(bench, f"{name}, bf16 beside float32", rough, full, HALF_LIMIT):
            now.decide("numbers", "float32", f"{name} in bf16 is not what it is in float32")
            fine = False
    return fine


def wide_heads(bench):
    """A network of two blocks with heads of width 128."""
    path = bench.work / "wide_heads.json"
    path.write_text('{"format":"plumbline-network","version":1,"name":"wide-heads","source":"for a check of attention","sequence":512,"samples":1,"width":512,'
                    '"vocabulary":1024,"layers":[{"kind":"embedding","positions":512},{"repeat":2,"layers":[{"kind":"residual","body":[{"kind":"layer_norm"},'
                    '{"kind":"attention","heads":4}]},{"kind":"residual","body":[{"kind":"layer_norm"},{"kind":"mlp"}]}]},{"kind":"layer_norm"},{"kind":"head"}]}')
    return path


def same_bits(bench, now, numbers, more):
    """Whether one device and pipelines give the same weights, with op graphs and without."""
    hashes = {}
    for schedule, devices in (("1f1b", 1), ("1f1b", 2), ("zb-h1", 2)):
        for flags in ((), ("--no-graphs",)) if not now.dry and not now.graphs and devices > 1 else ((),):
            name = " ".join([schedule, f"p{devices}", *flags, *numbers, *more])
            document, why = now.train(schedule, "-p", devices, *SMALL[2:], *now.parts, *numbers, *flags, limit=25)
            if document is None:
                bench.say(f"{name}: {why}")
                return False
            hashes[name] = document["training"]["weights_hash"]
            bench.journal.add("weights", name, hash=hashes[name])
    bench.say(f"{len(hashes)} runs, {len(set(hashes.values()))} different weights{' ' + ' '.join(numbers) if numbers else ''}")
    return len(set(hashes.values())) == 1


def bits(bench, now):
    """Equal weights in float32 and in bf16. What hangs or differs is tried again without graphs, then with fewer hardware queues."""
    def both():
        return all([same_bits(bench, now, numbers, ()) for numbers in ([[], now.numbers] if now.numbers else [[]])])
    if both():
        return True
    if now.dry:
        return False
    now.decide("graphs", "off", "pipelines hang or give other weights with op graphs, or without them")
    if both():
        return False
    now.decide("connections", "8", "pipelines hang or give other weights also without op graphs")
    if not both():
        now.decide("fidelity", "off", "pipelines do not give the weights of one device in any way of launching")
    return False


def modes(bench, now):
    """A step by op graphs and by plain launches, in turns: one way for everything that follows, plain launches where graphs are refused or slower.
    And whether virtual devices are what they should be."""
    experiment = ("-p", 2, "-m", 4, "--network", "gpt-tiny") if now.dry else ("-p", 8, "-m", 16, "--network", "gpt-mini", "--samples", 8)
    steps = {"op graphs": [], "plain launches": []}
    for number in range(1 if now.dry or now.graphs else 2 * MODES_ROUNDS):
        name = "plain launches" if number % 2 or now.graphs else "op graphs"
        document, why = now.train("1f1b", *experiment, "--updates", 12, *now.parts, *now.numbers, *(["--no-graphs"] if number % 2 else []))
        if document is None:
            bench.say(f"{name}: {why}")
            continue
        steps[name].append(document["step_time_ns"])
        bench.journal.add("mode", name, step_ns=document["step_time_ns"], machine=document["machine"])
        bench.say(f"{name}: {document['step_time_ns'] / 1e6:.3f} ms, {document['machine']}")
        for sign in BAD_SIGNS:
            if sign in document["machine"]:
                now.decide("fidelity", "off", f"virtual devices {sign}: {document['machine']}")
        for sign in NO_GRAPHS:
            if sign in document["machine"]:
                now.decide("graphs", "off", f"the run had none: {document['machine']}")
    if not all(steps.values()):
        return any(steps.values())
    graphs, plain = (statistics.median(times) / 1e6 for times in steps.values())
    if graphs > plain * (1 + MODES_LIMIT):
        now.decide("graphs", "off", f"a step takes {graphs:.3f} ms with op graphs and {plain:.3f} ms without: more than 0.5 % longer")
    return True
