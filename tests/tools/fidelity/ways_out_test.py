#!/usr/bin/env python3
"""What results/fidelity/scripts/gpu/validate.sh decides in its first minutes when something on the GPU is wrong, with a program that stands in for one.

    tests/tools/fidelity/ways_out_test.py SOURCES PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sources, program = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
sys.path.insert(0, str(sources / "results/fidelity/scripts"))
from fidelity.journal import read_lines  # noqa: E402

STAND_IN = pathlib.Path(__file__).resolve().parent / "program_of_a_gpu.py"


def run(out, faults, parts, seconds=300, stand_in=STAND_IN):
    """(exit status, decisions, status of every part, log) of a call."""
    environment = {**os.environ, "PLUMB_FAULTS": faults, "PLUMB_REAL": str(program), "OUT": str(out)}
    done = subprocess.run([sources / "results/fidelity/scripts/gpu/validate.sh", "--program", stand_in, "--only", parts, "--seconds", str(seconds)], env=environment, capture_output=True, text=True)
    lines = read_lines(out / "journal.jsonl")
    return (done.returncode, {line["name"]: line["value"] for line in lines if line["kind"] == "decision"},
            {line["name"]: line["status"] for line in lines if line["kind"] == "part"}, (out / "log.txt").read_text())


def expect(what, found, expected):
    assert found == expected, f"{what}: found {found}, expected {expected}"


def every_configuration_can_be_predicted(folder):
    """What gpu.json asks for is accepted, at its sizes, with the cost model in place of a profile."""
    (folder / "networks").mkdir()
    document = json.loads((sources / "results/fidelity/scripts/fidelity/gpu.json").read_text())
    for row in document["configurations"]:
        network = folder / "networks" / "network.json"
        network.write_text(json.dumps({**document["network"], **document["models"][row["model"]].get("change", {})}))
        done = subprocess.run([program, "simulate", *row["schedule"], "--network", network, "--samples", str(document["models"][row["model"]]["samples"]), "--partition", "equal",
                               "--cluster", document["cluster"], "--updates", "2", "--summary"], capture_output=True, text=True)
        expect(row["name"], (done.returncode, done.stderr), (0, ""))
        assert row["model"] in document["models"] and row["profile"] in document["profiles"]


def beside_a_test(folder, says, status=0):
    """The stand-in with a gpu_test beside it that says this and ends so."""
    folder.mkdir()
    (folder / "plumbline").symlink_to(STAND_IN)
    test = folder / "gpu_test"
    test.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\nexit {status}\n")
    test.chmod(0o755)
    return folder / "plumbline"


def attention_has_ways_out(folder):
    """cuDNN's attention takes part in `speed` only where everything about it is right."""
    times = "on NVIDIA H200\nattention,b8_q1024_k1024_h12/12_d64_causal,forward,0.141,0.061\n[doctest] fine"
    missing = "no attention by cuDNN: cuDNN: libcudnn.so.9: cannot open shared object file; expected its folder in PLUMB_CUDNN or LD_LIBRARY_PATH"
    for name, faults, says, ends, value in (("right", "", times, 0, "on"), ("other losses", "attention", times, 0, "off"), ("no library", "", missing, 0, "off"), ("failed cases", "", times, 1, "off")):
        stand_in = beside_a_test(folder / name, says, ends)
        status, decided, parts, log = run(folder / name / "out", faults, "attention,speed", stand_in=stand_in)
        expect(name, (status, decided, parts), (0 if value == "on" else 3, {"attention": value}, {"attention": "ok" if value == "on" else "failed", "speed": "ok"}))
        speeds = [json.loads(line)["what"] for line in (folder / name / "out/speed.jsonl").read_text().splitlines()]
        expect(name, len(speeds), 8 if value == "on" else 4)
        assert says != missing or "decision: attention = off, because no attention by cuDNN" in log
    rows = (folder / "right/out/attention.csv").read_text()
    expect("times of attention", rows, "kind,direction,own_ms,cudnn_ms\nb8_q1024_k1024_h12/12_d64_causal,forward,0.141,0.061\n")


def convolutions_have_ways_out(folder):
    """cuDNN's convolutions are timed only where everything about them is right."""
    missing = "no convolutions by cuDNN: cuDNN: libcudnn.so.9: cannot open shared object file; expected its folder in PLUMB_CUDNN or LD_LIBRARY_PATH"
    for name, faults, says, ends, value in (("images right", "", "fine", 0, "on"), ("images wrong", "convolutions", "fine", 0, "off"), ("no library for images", "", missing, 0, "off")):
        stand_in = beside_a_test(folder / name, says, ends)
        status, decided, parts, log = run(folder / name / "out", faults, "convolutions", stand_in=stand_in)
        expect(name, (status, decided, parts), (0 if value == "on" else 3, {"convolutions": value}, {"convolutions": "ok" if value == "on" else "failed"}))
        table = folder / name / "out/convolutions.csv"
        ways = [line.rsplit(",", 1)[0] for line in table.read_text().splitlines()[1:]] if table.exists() else []
        expect(name, ways, [f"{network},{way}" for network in ("resnet-50-cifar", "resnet-50") for way in ("own", "cudnn", "fastest")] if value == "on" else [])


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        every_configuration_can_be_predicted(folder)
        status, decided, parts, log = run(folder / "well", "", "machine,oracle,bits,modes")
        expect("all is well", (status, decided, set(parts.values())), (0, {}, {"ok"}))
        assert "--numbers bf16" in log and "--watchdog" in log and "--device-sms 8" in log

        status, decided, parts, log = run(folder / "shared", "shared", "modes,fidelity")
        expect("shared multiprocessors", (status, decided, parts), (3, {"fidelity": "off"}, {"modes": "ok", "fidelity": "failed"}))
        assert "fidelity: not measured, because virtual devices share all SMs" in log and "gpu.json" not in log

        status, decided, parts, log = run(folder / "little time", "", "fidelity", 30)
        expect("too little time for a single run", (parts, "no time left for further runs" in log, (folder / "little time/fidelity.md").exists()),
               ({"fidelity": "failed"}, True, True))

        status, decided, parts, log = run(folder / "half", "half", "oracle,modes")
        expect("wrong bf16", (decided, parts), ({"numbers": "float32"}, {"oracle": "failed", "modes": "ok"}))
        assert "--numbers bf16" not in log[log.index("-p 8 -m 16"):], "the part after it still computes in bf16"

        status, decided, parts, log = run(folder / "slow", "slow", "modes")
        expect("slow op graphs", (status, decided), (0, {"graphs": "off"}))

        status, decided, parts, log = run(folder / "hang", "hang", "bits", 14)
        expect("op graphs that hang", (status, decided.get("graphs")), (3, None if parts["bits"] == "out of time" else "off"))
        expect("a hang", "124" in log, True)

        attention_has_ways_out(folder)
        convolutions_have_ways_out(folder)

        done = subprocess.run([sources / "results/fidelity/scripts/gpu/validate.sh", "--program", program, "--only", "nothing"], capture_output=True, text=True)
        expect("an unknown part", (done.returncode, done.stderr.split(", expected")[0]), (2, "validate.sh: --only: unknown part 'nothing'"))
    print("ways out: 14 situations")


main()
