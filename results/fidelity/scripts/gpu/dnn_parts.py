"""What cuDNN computes beside our kernels: results and bits of each kind, then whole steps with it. Nothing of it is used where that fails."""
import dataclasses
import shutil

from gpu.first_minutes import held


@dataclasses.dataclass
class Work:
    name: str  # also that of its option and of the decision
    suite: str  # of gpu_test
    network: tuple  # for losses, at the size that counts
    small: tuple  # for bits on parts of the GPU
    losses: float  # between cuDNN and our kernels, in bf16

    @property
    def by_cudnn(self):
        return ["--" + self.name, "cudnn"]


ATTENTION = Work("attention", "cudnn", ("gpt2-small", "--samples", 2), ("gpt-mini", "--samples", 2), 1e-2)
CONVOLUTIONS = Work("convolutions", "cudnn convolutions", ("resnet-50-cifar", "--samples", 64), ("resnet-20-tiny", "--samples", 8), 2e-2)
TIMED = (("resnet-50-cifar", 128), ("resnet-50", 32))


def attention(bench, now):
    return tried(bench, now, ATTENTION)


def convolutions(bench, now):
    if not tried(bench, now, CONVOLUTIONS):
        return False
    return now.dry or now.decided("convolutions") != "on" or times(bench, now)


def tried(bench, now, work):
    if now.dry or not now.numbers:
        bench.say(f"{work.name} by cuDNN: not tried, it is for bf16 on a GPU")
        return now.dry
    why = kinds(bench, work) or steps(bench, now, work) or parts(bench, now, work)
    now.decide(work.name, "off" if why else "on", why or "results, bits and losses are right")
    return not why


def kinds(bench, work):
    """Runs the suite and keeps its times, where it has some, in a table. What is wrong; empty: nothing."""
    test = shutil.which(bench.program.rsplit("/", 1)[0] + "/gpu_test")
    if not test:
        return "there is no gpu_test beside the program"
    done = bench.run([test, "-ts=" + work.suite], 90)
    lines = done.text.splitlines()
    rows = [line.split(",", 1)[1] for line in lines if line.startswith(work.name + ",")]
    if rows:
        (bench.out / f"{work.name}.csv").write_text("\n".join(["kind,direction,own_ms,cudnn_ms", *rows]) + "\n")
    for row in rows:
        kind, direction, own, library = row.split(",")
        bench.say(f"{work.name} {kind} {direction}: our kernels {float(own):.3f} ms, cuDNN {float(library):.3f} ms")
    missing = [line for line in lines if line.startswith(f"no {work.name} by cuDNN: ")]
    if missing:
        return missing[0]
    if not done.fine:
        bench.log.write("\n".join(line for line in lines if "ERROR" in line or "values:" in line or "logged:" in line).encode())
        return "its cases of gpu_test fail"
    return ""


def steps(bench, now, work):
    """A network at its real size with our kernels and with cuDNN: losses."""
    name = work.network[0]
    run = ("1f1b", "-p", 1, "-m", 1, "--network", *work.network, "--steps", 4, *now.numbers)
    ours, _ = now.train(*run)
    theirs, why = now.train(*run, *work.by_cudnn)
    if theirs is None:
        return f"a step of {name} with it: {why}"
    bench.say(theirs["machine"])
    bench.journal.add(work.name, name, machine=theirs["machine"])
    return "" if held(bench, f"{work.name} by cuDNN beside our kernels", theirs, ours, work.losses) else f"losses of {name} differ"


def parts(bench, now, work):
    """One device and pipelines on parts of the GPU, with op graphs and without: the same weights."""
    hashes = set()
    for schedule, devices, flags in (("1f1b", 1, ()), ("1f1b", 1, ("--no-graphs",)), ("1f1b", 2, ()), ("zb-h1", 2, ("--no-graphs",))):
        document, why = now.train(schedule, "-p", devices, "-m", 4, "--network", *work.small, "--updates", 8, *now.parts, *now.numbers, *work.by_cudnn, *flags)
        if document is None:
            return f"{schedule} on {devices} parts of the GPU with it: {why}"
        hashes.add(document["training"]["weights_hash"])
        bench.journal.add(work.name, f"{schedule} p{devices} {' '.join(flags)}".strip(), hash=document["training"]["weights_hash"], machine=document["machine"])
    return "" if len(hashes) == 1 else f"4 runs have {len(hashes)} different weights"


def times(bench, now):
    """Whole steps of image networks on all of the GPU, each way."""
    ways = (("own", []), ("cudnn", CONVOLUTIONS.by_cudnn), ("fastest", ["--convolutions", "fastest", "--convolution-table", bench.work / "convolutions.txt"]))
    rows, fine = ["network,way,step_ms"], True
    for name, samples in TIMED:
        for way, flags in ways:
            document, why = now.train("1f1b", "-p", 1, "-m", 2, "--network", name, "--samples", samples, "--updates", 12, *now.numbers, *flags)
            if document is None:
                bench.say(f"{name}, convolutions {way}: {why}")
                fine = False
                continue
            rows.append(f"{name},{way},{document['step_time_ns'] / 1e6:.3f}")
            bench.say(f"{name}, convolutions {way}: {document['step_time_ns'] / 1e6:.3f} ms a step")
            (bench.out / "convolutions.csv").write_text("\n".join(rows) + "\n")
    return fine
