#!/usr/bin/env python3
"""Ready answers: the best layouts of twelve known models on six kinds of GPUs, beside published recipes.

For every model, GPU and format of products `plumbline plan` searches what Megatron-LM can run, with the overlaps that
NVIDIA's recipes turn on (results/recipes/bf16.yaml, fp8.yaml, mxfp8.yaml). Where a row of results/public/nemo.csv (or of
ELSEWHERE, below) was measured for that model and GPU, devices, batch, tokens and format are those of the row, and its
layout is simulated as well, with layers divided as evenly as whole layers can be. The same is done for the layouts of the
Llama 3 report, of which only the achieved FLOP rates are published. Everything is written to FOLDER/recipes.csv and FOLDER/recipes.md.

    tools/plans/recipes.py build/release/tools/plumbline-simulator results/recipes
"""

import argparse
import csv
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Model, its name in results/public/nemo.csv, and the job where nothing was published: devices, batch, tokens of a sample.
MODELS = [
    ("llama2-7b", "", 8, 128, 4096),
    ("llama2-13b", "", 8, 128, 4096),
    ("llama3-8b", "LLAMA3_8B", 8, 128, 8192),
    ("llama2-70b", "LLAMA2-70B", 64, 128, 4096),
    ("llama3-70b", "LLAMA3_70B", 64, 128, 8192),
    ("gpt3-175b", "", 128, 256, 2048),
    ("llama3.1-405b", "LLAMA3.1_405B", 1024, 512, 8192),
    ("mixtral-8x7b", "", 64, 256, 4096),
    ("qwen3-30b-a3b", "Qwen3_30B_a3B", 16, 512, 4096),
    ("gpt-oss-120b", "GPT OSS 120B", 64, 512, 4096),
    ("qwen3-235b-a22b", "Qwen3_235B_a22B", 256, 2048, 4096),
    ("deepseek-v3", "DeepSeekV3", 256, 4096, 4096),
]

# Cluster, its GPU in results/public/nemo.csv, and its format of products in 8 bits.
CLUSTERS = [
    ("a100", "A100", ""),
    ("h100", "H100", "fp8"),
    ("b200", "B200", "mxfp8"),
    ("gb200", "GB200", "mxfp8"),
    ("gb300", "GB300", "mxfp8"),
    ("mi300x", "MI300X", "fp8"),
]

FORMATS = {"BF16": "bf16", "FP8": "fp8", "FP8-CS": "fp8", "MXFP8": "mxfp8", "FP8-MX": "mxfp8"}

# Table 4 of "The Llama 3 Herd of Models" (Dubey et al. 2024, arXiv 2407.21783): H100, bf16, interleaved 1F1B.
LLAMA3_SOURCE = "Llama 3 report, table 4"
LLAMA3 = [
    {"model": "llama3.1-405b", "gpus": 8192, "tp": 8, "cp": 1, "pp": 16, "dp": 64, "seq": 8192, "batch": 2048,
     "tflops": 430, "mfu": 0.43},
    {"model": "llama3.1-405b", "gpus": 16384, "tp": 8, "cp": 1, "pp": 16, "dp": 128, "seq": 8192, "batch": 2048,
     "tflops": 400, "mfu": 0.41},
    {"model": "llama3.1-405b", "gpus": 16384, "tp": 8, "cp": 16, "pp": 16, "dp": 8, "seq": 131072, "batch": 128,
     "tflops": 380, "mfu": 0.38},
]

def elsewhere(model, form, source, **facts):
    return {"model": model, "form": form, "source": source, "vp": 1, "cp": 1, "ep": 1, "size": 1, "tokens": "", "tflops": "",
            **facts}


NEMO = "NVIDIA/NeMo@070a0bb docs/source/performance/performance_summary.md, NeMo 24.07, DGX-H100"
MOE = "NVIDIA/Megatron-LM@022bcb5 megatron/core/transformer/moe/README.md, layout of v0.8, rate of v0.9"

# Measured on H100 and published outside results/public/nemo.csv. These numbers are compared with and fitted to nothing else.
ELSEWHERE = [
    elsewhere("llama2-7b", "fp8", NEMO, gpus=8, batch=128, seq=4096, tp=1, pp=1, tokens=16847, tflops=776),
    elsewhere("llama2-13b", "fp8", NEMO, gpus=16, batch=128, seq=4096, tp=1, pp=4, vp=10, tokens=8646, tflops=754),
    elsewhere("gpt3-175b", "fp8", NEMO, gpus=128, batch=256, seq=2048, tp=4, pp=8, vp=6, tokens=726, tflops=782),
    elsewhere("mixtral-8x7b", "bf16", MOE, gpus=64, batch=256, seq=4096, tp=1, pp=4, vp=8, ep=8, tflops=468),
]

# What is searched: enough for the answer, and a fraction of the time that everything takes.
RANGES = ["--zero", "1", "--cp", "1,2", "--pp", "1,2,4,8,16,32", "--microbatch-size", "1,2,4"]

FIELDS = ["model", "cluster", "format", "gpus", "batch", "sequence", "best_layout", "best_tokens_per_s_per_gpu",
          "best_tflops_per_gpu", "best_needs_gib", "best_verdict", "gap", "published_layout", "published_source",
          "published_tokens_per_s_per_gpu", "published_tflops_per_gpu", "predicted_tokens_per_s_per_gpu",
          "predicted_tflops_per_gpu", "predicted_verdict", "command"]


def run(program, words):
    return subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True)


def plain(model):
    """Sources spell names differently, and add what was dropped beside the model."""
    return model.replace(" (dropless)", "").replace(" (w/o MTP)", "").replace("-", "_").lower()


def published_rows():
    """The newest measured pre-training row of every model, GPU and format: containers are named by year and month."""
    newest = {}
    with open(ROOT / "results/public/nemo.csv", newline="") as file:
        for row in csv.DictReader(file):
            usual = "pre-training" in row["note"] or "pretraining" in row["note"]
            if not usual or "FSDP" in row["note"] or row["precision"] not in FORMATS or not row["num_gpus"]:
                continue
            key = plain(row["model"]), row["gpu"], FORMATS[row["precision"]]
            if key not in newest or row["note"] > newest[key]["note"]:
                newest[key] = row
    for facts in ELSEWHERE:
        theirs = next(theirs or network for network, theirs, *_ in MODELS if network == facts["model"])
        key = plain(theirs), "H100", facts["form"]
        newest.setdefault(key, {
            "row_id": facts["source"], "num_gpus": facts["gpus"], "global_batch": facts["batch"], "seq": facts["seq"],
            "microbatch_size": facts["size"], "tokens_per_s_per_gpu": facts["tokens"], "tflops_per_gpu": facts["tflops"],
            **{key: facts[key] for key in ("tp", "pp", "vp", "cp", "ep")}})
    return newest


def whole(row, name):
    return int(row[name]) if row[name] else 1


def even_cut(decoders, stages):
    """Layers of every stage, two for each decoder layer, as evenly as can be; norm and head count as one of them."""
    if stages == 1:
        return str(2 * decoders + 3)
    ends = 2 if (decoders + 2) % stages == 0 else 0
    each = [(decoders + ends) // stages + (1 if s < (decoders + ends) % stages else 0) for s in range(stages)]
    if ends:
        each[0] -= 1
        each[-1] -= 1
    layers = [2 * count for count in each]
    layers[0] += 1
    layers[-1] += 2
    return ",".join(str(count) for count in layers)


def sized_cluster(name, gpus):
    """On as few nodes as have room and can have equally many each."""
    per_node = json.loads((ROOT / f"models/presets/clusters/{name}.json").read_text())["devices_per_node"]
    nodes = -(-gpus // per_node)
    while gpus % nodes:
        nodes += 1
    return f"{name}-{nodes}x{gpus // nodes}"


def layout_text(plan):
    text = f"{plan['schedule']}, tp {plan['tensor']}, pp {plan['places']}, vp {plan['chunks']}, cp {plan['context']}, " \
           f"ep {plan['expert']}, dp {plan['data']}, microbatch {plan['microbatch_size']}"
    text += f", recompute {plan['recompute']}" if plan["recompute"] != "none" else ""
    return text + (f", ZeRO {plan['zero']}" if plan["zero"] else "")


class Recipes:
    def __init__(self, program):
        self.program = program
        self.rows = []
        self.decoders = {}

    def layers(self, network):
        """Number of decoder layers, from the file of the built-in network."""
        if network not in self.decoders:
            document = json.loads((ROOT / f"models/presets/networks/{network}.json").read_text())
            count = 0

            def walk(layers, times):
                nonlocal count
                for layer in layers:
                    if "repeat" in layer:
                        walk(layer["layers"], times * layer["repeat"])
                    elif layer["kind"] == "residual":
                        count += times
            walk(document["layers"], 1)
            self.decoders[network] = count // 2
        return self.decoders[network]

    def plan(self, network, cluster, form, batch, sequence):
        with tempfile.TemporaryDirectory() as folder:
            answer = pathlib.Path(folder, "answer.json")
            words = ["plan", "--from", f"results/recipes/{form}.yaml", "--network", network, "--cluster", cluster,
                     "--batch", str(batch), "--sequence", str(sequence), *RANGES, "--simulations", "40",
                     "--time-limit", "60", "--json", str(answer), "-o", str(pathlib.Path(folder, "plan.json"))]
            result = run(self.program, words)
            if result.returncode not in (0, 3):
                sys.exit(f"{shlex.join(words)}: {result.stderr}")
            document = json.loads(answer.read_text())
            return (document["best"][0] if document["best"] else None), document["gap"]

    def simulate(self, network, cluster, form, layout, batch, sequence):
        """Tokens a second and GPU of a published layout, its TFLOP/s, and the verdict on its memory."""
        tp, pp, vp, cp, ep, gpus, size = (layout[key] for key in ("tp", "pp", "vp", "cp", "ep", "gpus", "size"))
        data = gpus // (tp * pp * cp)
        schedule = "interleaved" if vp > 1 else "1f1b"
        words = ["simulate", schedule, "-p", str(pp), "-m", str(batch // (data * size))]
        words += ["-v", str(vp)] if vp > 1 else []
        words += ["--job", f"results/recipes/{form}.yaml", "--network", network, "--cluster", cluster,
                  "--sequence", str(sequence), "--tp", str(tp), "--cp", str(cp), "--ep", str(ep), "--dp", str(data)]
        words += ["--etp", "1"] if ep > 1 else []
        words += ["--sequence-parallel"] if tp > 1 else []
        words += ["--zero", "1", "--microbatch-size", str(size), "--partition", even_cut(self.layers(network), pp * vp),
                  "--summary", "--json", "-"]
        result = run(self.program, words)
        if not result.stdout.startswith("{"):
            return None, None, result.stderr.strip().splitlines()[-1]
        timeline = json.loads(result.stdout)
        fullest = max(timeline["devices"], key=lambda device: device["peak_memory_bytes"])
        return timeline["tokens_per_s"] / gpus, timeline["tflops_per_device"], fullest["memory_need"]["verdict"]

    def add(self, network, cluster, form, job, published=None):
        gpus, batch, sequence = job
        best, gap = self.plan(network, sized_cluster(cluster, gpus), form, batch, sequence)
        row = dict.fromkeys(FIELDS, "")
        row.update(model=network, cluster=cluster, format=form, gpus=gpus, batch=batch, sequence=sequence)
        if best:
            row.update(best_layout=layout_text(best), best_tokens_per_s_per_gpu=round(best["tokens_per_s"] / best["devices"]),
                       best_tflops_per_gpu=round(best["tflops_per_device"]), gap=round(gap, 3),
                       best_needs_gib=round(best["memory"]["needed_bytes"] / 2**30, 1),
                       best_verdict=best["memory"]["verdict"],
                       command=best["simulate"] if isinstance(best["simulate"], str) else "")
        else:
            row.update(best_layout="nothing fits")
        if published:
            layout = {key: whole(published, key) for key in ("tp", "pp", "vp", "cp", "ep")}
            layout.update(gpus=gpus, size=whole(published, "microbatch_size"))
            tokens, tflops, verdict = self.simulate(network, sized_cluster(cluster, gpus), form, layout, batch, sequence)
            row.update(published_layout="tp {tp}, pp {pp}, vp {vp}, cp {cp}, ep {ep}, microbatch {size}".format(**layout),
                       published_source=published["row_id"],
                       published_tokens_per_s_per_gpu=published["tokens_per_s_per_gpu"],
                       published_tflops_per_gpu=published["tflops_per_gpu"],
                       predicted_tokens_per_s_per_gpu=round(tokens) if tokens else "",
                       predicted_tflops_per_gpu=round(tflops) if tflops else "", predicted_verdict=verdict)
        self.rows.append(row)
        print(f"{network} {cluster} {form}: {row['best_layout']}", flush=True)

    def add_llama3(self, facts):
        """Stages are as the report says: one layer each, none beside the embedding and the head (126 = 16 x 8 - 2)."""
        row = dict.fromkeys(FIELDS, "")
        cluster = sized_cluster("h100", facts["gpus"])
        layout = {"tp": facts["tp"], "pp": facts["pp"], "vp": 8, "cp": facts["cp"], "ep": 1, "gpus": facts["gpus"], "size": 1}
        tokens, tflops, verdict = self.simulate(facts["model"], cluster, "bf16", layout, facts["batch"], facts["seq"])
        row.update(model=facts["model"], cluster="h100", format="bf16", gpus=facts["gpus"], batch=facts["batch"],
                   sequence=facts["seq"], published_source=LLAMA3_SOURCE,
                   published_layout="tp {tp}, pp {pp}, vp 8, cp {cp}, dp {dp}, microbatch 1".format(**facts),
                   published_tflops_per_gpu=facts["tflops"], predicted_verdict=verdict,
                   predicted_tokens_per_s_per_gpu=round(tokens) if tokens else "",
                   predicted_tflops_per_gpu=round(tflops) if tflops else "")
        self.rows.append(row)


def markdown(rows):
    head = ["model", "cluster", "format", "GPUs", "batch x tokens", "best layout that Megatron-LM runs", "tokens/s/GPU",
            "TFLOP/s/GPU", "needs", "published layout", "measured", "predicted"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        measured = row["published_tokens_per_s_per_gpu"]
        predicted = row["predicted_tokens_per_s_per_gpu"]
        if not measured and row["published_tflops_per_gpu"]:
            measured = f"{row['published_tflops_per_gpu']} TFLOP/s"
            predicted = predicted and f"{row['predicted_tflops_per_gpu']} TFLOP/s"
        needs = f"{row['best_needs_gib']} GiB" if row["best_needs_gib"] else ""
        source = f" ({row['published_source']})" if row["published_source"] else ""
        cells = [row["model"], row["cluster"], row["format"], row["gpus"], f"{row['batch']} x {row['sequence']}",
                 row["best_layout"], row["best_tokens_per_s_per_gpu"], row["best_tflops_per_gpu"], needs,
                 f"{row['published_layout']}{source}" if row["published_layout"] else "none published", measured,
                 predicted or row["predicted_verdict"]]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def merged(rows, folder, asked):
    """New rows beside those that the folder has of other models and clusters, in the order of models and clusters; those
    without an answer last."""
    table = folder / "recipes.csv"
    kept = []
    if (asked.only or asked.cluster) and table.exists():
        with open(table, newline="") as file:
            kept = [{**dict.fromkeys(FIELDS, ""), **row} for row in csv.DictReader(file)
                    if asked.only not in (None, row["model"]) or asked.cluster not in (None, row["cluster"])]
    models = [model for model, *_ in MODELS]
    clusters = [cluster for cluster, *_ in CLUSTERS]
    return sorted(kept + rows, key=lambda row: (not row["best_layout"], models.index(row["model"]),
                                                clusters.index(row["cluster"]), row["format"] != "bf16"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="plumbline or plumbline-simulator")
    parser.add_argument("folder", help="where recipes.csv and recipes.md are written")
    parser.add_argument("--only", help="one model; the rows of the others stay as they are in FOLDER")
    parser.add_argument("--cluster", help="one cluster; the rows of the others stay, too")
    arguments = parser.parse_args()
    recipes = Recipes(str(pathlib.Path(arguments.program).resolve()))
    published = published_rows()
    for network, theirs, gpus, batch, sequence in MODELS:
        for cluster, gpu, eight_bits in CLUSTERS:
            for form in ["bf16", eight_bits] if eight_bits else ["bf16"]:
                row = published.get((plain(theirs or network), gpu, form))
                job = (int(row["num_gpus"]), int(row["global_batch"]), int(row["seq"])) if row else (gpus, batch, sequence)
                if arguments.only in (None, network) and arguments.cluster in (None, cluster):
                    recipes.add(network, cluster, form, job, row)
    for facts in LLAMA3:
        if arguments.only in (None, facts["model"]) and arguments.cluster in (None, "h100"):
            recipes.add_llama3(facts)
    folder = pathlib.Path(arguments.folder)
    rows = merged(recipes.rows, folder, arguments)
    with open(folder / "recipes.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (folder / "recipes.md").write_text(markdown(rows))


if __name__ == "__main__":
    main()
