#!/usr/bin/env python3
"""Training speed of GPT-2 in PyTorch, eager and compiled, beside what plumbline measured.

Appends a JSON line to --out, where the lines of plumbline stand already, as soon as it is measured, and prints a table of tokens/s
and model-FLOPs utilization. Forward, backward and AdamW, sequence 1024; `eager` and `compiled` in bf16 with fp32 master weights (autocast),
`compiled-bf16` with all weights in bf16 and cuDNN's attention, the fastest that PyTorch offers.
With --dry-run nothing is timed on a GPU: the smallest model on the CPU where PyTorch is there, and the table in any case.
"""

import argparse
import contextlib
import json
import math
import statistics
import sys
import time

SHAPES = {  # layers, width, heads, vocabulary, sequence
    "gpt2-small": (12, 768, 12, 50257, 1024),
    "gpt2-medium": (24, 1024, 16, 50257, 1024),
    "gpt-tiny": (4, 64, 4, 256, 64),
}
PEAK_FLOPS = {"H200": 989e12, "H100": 989e12, "A100": 312e12}  # dense bf16, vendor's data sheets


def flops_per_token(name):
    """Products of forward and backward: 3 x 2 per weight, attention over the causal half."""
    layers, width, _, vocabulary, sequence = SHAPES[name]
    forward = layers * (24 * width * width + 2 * width * sequence) + 2 * width * vocabulary
    return 3 * forward


def make_model(torch, name):
    layers, width, heads, vocabulary, sequence = SHAPES[name]
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, s, h = x.shape
            q, k, v = self.qkv(self.ln1(x)).view(b, s, 3, heads, h // heads).permute(2, 0, 3, 1, 4)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).reshape(b, s, h))
            return x + self.out(functional.gelu(self.fc(self.ln2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(sequence, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, ids, targets):
            x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
            for block in self.blocks:
                x = block(x)
            logits = self.head(self.norm(x))
            return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    return Gpt()


def measure(torch, name, way, arguments, device):
    """Seconds per step of so many microbatches: the median of `arguments.steps` after 5 that warm up."""
    _, _, _, vocabulary, sequence = SHAPES[name]
    torch.manual_seed(0)
    model = make_model(torch, name).to(device)
    low = way.endswith("bf16")
    if low:
        model = model.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device == "cuda")
    step_model = torch.compile(model) if way.startswith("compiled") else model
    ids = torch.randint(vocabulary, (arguments.samples, sequence + 1), device=device)

    def attention():
        if not low or device != "cuda":
            return contextlib.nullcontext()
        return torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.CUDNN_ATTENTION])

    def step():
        for _ in range(arguments.microbatches):
            with attention(), torch.autocast(device, dtype=torch.bfloat16, enabled=not low):
                loss = step_model(ids[:, :-1], ids[:, 1:])
            (loss / arguments.microbatches).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if device == "cuda":
            torch.cuda.synchronize()

    for _ in range(1 if arguments.dry_run else 5):
        step()
    times = []
    for _ in range(2 if arguments.dry_run else arguments.steps):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def measure_one(arguments):
    """Measures, prints and appends one row; returns whether that went well, and the GPU's name."""
    try:
        import torch
    except ImportError:
        print("torch_speed: no PyTorch on this machine, nothing measured with it")
        return arguments.dry_run, ""
    device = "cuda" if torch.cuda.is_available() and not arguments.dry_run else "cpu"
    if device == "cpu" and not arguments.dry_run:
        print("torch_speed: no CUDA device")
        return False, ""
    seconds = measure(torch, arguments.network, arguments.way, arguments, device)
    tokens = arguments.samples * arguments.microbatches * SHAPES[arguments.network][4]
    row = {"network": arguments.network, "what": "torch " + arguments.way, "step_ns": round(1e9 * seconds), "tokens_per_s": tokens / seconds}
    print(json.dumps(row), flush=True)
    with open(arguments.out, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    return True, torch.cuda.get_device_name() if device == "cuda" else ""


def print_table(path, gpu):
    peak = next((flops for key, flops in PEAK_FLOPS.items() if key in gpu), math.nan)
    try:
        with open(path, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
    except FileNotFoundError:
        rows = []
    print(f"{'network':<12} {'what':<26} {'tokens/s':>12} {'model FLOPs':>12} {'of compiled':>12}")
    compiled = {row["network"]: row["tokens_per_s"] for row in rows if row["what"] == "torch compiled"}
    for row in rows:
        rate = row["tokens_per_s"]
        used = rate * flops_per_token(row["network"]) / peak
        ratio = rate / compiled[row["network"]] if row["network"] in compiled else math.nan
        print(f"{row['network']:<12} {row['what']:<26} {rate:12.0f} {used:12.1%} {ratio:12.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="JSON lines, appended to")
    parser.add_argument("--network", choices=SHAPES, default="gpt2-small")
    parser.add_argument("--way", choices=["eager", "compiled", "compiled-bf16"], default="compiled")
    parser.add_argument("--samples", type=int, default=8, help="sequences per microbatch")
    parser.add_argument("--microbatches", type=int, default=2, help="per step")
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--dry-run", action="store_true")
    arguments = parser.parse_args()
    fine, gpu = measure_one(arguments)
    print_table(arguments.out, gpu)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
