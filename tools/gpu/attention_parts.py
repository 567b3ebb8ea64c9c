"""Attention by cuDNN beside our kernels: results, bits and times of each kind, then whole steps with it. Nothing of it is used where that fails."""
import shutil

from gpu.first_minutes import held

SUITE = "cudnn"  # of gpu_test
LOSSES = 1e-2  # between cuDNN and our kernels, in bf16
BY_CUDNN = ["--attention", "cudnn"]


def attention(bench, now):
    if now.dry or not now.numbers:
        bench.say("attention by cuDNN: not tried, it is for bf16 on a GPU")
        return now.dry
    why = kinds(bench) or steps(bench, now) or parts(bench, now)
    now.decide("attention", "off" if why else "on", why or "results, bits and losses are right")
    return not why


def kinds(bench):
    """Runs the suite and keeps its times in attention.csv. What is wrong; empty: nothing."""
    test = shutil.which(bench.program.rsplit("/", 1)[0] + "/gpu_test")
    if not test:
        return "there is no gpu_test beside the program"
    done = bench.run([test, "-ts=" + SUITE], 90)
    lines = done.text.splitlines()
    rows = [line.split(",", 1)[1] for line in lines if line.startswith("attention,")]
    (bench.out / "attention.csv").write_text("\n".join(["kind,direction,own_ms,cudnn_ms", *rows]) + "\n")
    for row in rows:
        kind, direction, own, library = row.split(",")
        bench.say(f"attention {kind} {direction}: our kernels {float(own):.3f} ms, cuDNN {float(library):.3f} ms")
    missing = [line for line in lines if line.startswith("no attention by cuDNN: ")]
    if missing:
        return missing[0]
    if not done.fine:
        bench.log.write("\n".join(line for line in lines if "ERROR" in line or "values:" in line or "logged:" in line).encode())
        return "its cases of gpu_test fail"
    return ""


def steps(bench, now):
    """GPT-2 with our kernels and with cuDNN: losses."""
    run = ("1f1b", "-p", 1, "-m", 1, "--network", "gpt2-small", "--samples", 2, "--steps", 4, *now.numbers)
    ours, _ = now.train(*run)
    theirs, why = now.train(*run, *BY_CUDNN)
    if theirs is None:
        return f"a step of GPT-2 with it: {why}"
    bench.say(theirs["machine"])
    bench.journal.add("attention", "gpt2-small", machine=theirs["machine"])
    return "" if held(bench, "attention by cuDNN beside our kernels", theirs, ours, LOSSES) else "losses of GPT-2 differ"


def parts(bench, now):
    """One device and pipelines on parts of the GPU, with op graphs and without: the same weights."""
    hashes = set()
    for schedule, devices, flags in (("1f1b", 1, ()), ("1f1b", 1, ("--no-graphs",)), ("1f1b", 2, ()), ("zb-h1", 2, ("--no-graphs",))):
        document, why = now.train(schedule, "-p", devices, "-m", 4, "--network", "gpt-mini", "--samples", 2, "--updates", 8, *now.parts, *now.numbers, *BY_CUDNN, *flags)
        if document is None:
            return f"{schedule} on {devices} parts of the GPU with it: {why}"
        hashes.add(document["training"]["weights_hash"])
        bench.journal.add("attention", f"{schedule} p{devices} {' '.join(flags)}".strip(), hash=document["training"]["weights_hash"], machine=document["machine"])
    return "" if len(hashes) == 1 else f"4 runs have {len(hashes)} different weights"
