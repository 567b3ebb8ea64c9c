#!/usr/bin/env python3
"""Writes lora.safetensors: layers with low-rank adapters as loralib's released code (microsoft/LoRA) computes them.

    python3 make_lora_vectors.py     # needs torch, numpy and loralib

Names and drawn numbers are those of make_vectors.py; README.md says which versions wrote the file.
"""
import math
import os

import loralib
import torch
import torch.nn.functional as F

from drawn_numbers import drawn_numbers
from vector_file import write_vectors

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES, SEQUENCE, WIDTH, HEADS, HIDDEN = 2, 5, 8, 4, 12
TOKENS = SAMPLES * SEQUENCE
RANK, ALPHA = 3, 5.0

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
found = {}


def draw(name, shape):
    return torch.tensor(drawn_numbers(name, math.prod(shape))).reshape(shape)


class Product:
    """loralib's layer under a prefix of our names, with all its numbers drawn. Without a rank it is a frozen one."""

    def __init__(self, case, prefix, inputs, outputs, rank=RANK):
        self.case, self.prefix = case, prefix
        self.layer = loralib.Linear(inputs, outputs, r=rank, lora_alpha=ALPHA, merge_weights=False).double()
        names = {"weight": self.layer.weight, "bias": self.layer.bias}
        if rank:
            names.update(lora_a=self.layer.lora_A, lora_b=self.layer.lora_B)
        with torch.no_grad():
            for key, value in names.items():
                value.copy_(draw(f"{case}/{prefix}{key}", tuple(value.shape)))
        loralib.mark_only_lora_as_trainable(self.layer)
        self.names = names

    def __call__(self, x):
        return self.layer(x)

    def store(self):
        for key, value in self.names.items():
            assert (value.grad is None) == (key in ("weight", "bias"))
            if value.grad is not None:
                found[f"{self.case}/gradients/{self.prefix}{key}"] = value.grad


def case(name, input_width, products, forward):
    x = draw(f"{name}/input", (TOKENS, input_width)).requires_grad_()
    made = [Product(name, *product) for product in products]
    y = forward(x, *made)
    y.backward(draw(f"{name}/output_grad", tuple(y.shape)))
    found[f"{name}/output"] = y.detach()
    found[f"{name}/input_grad"] = x.grad
    for product in made:
        product.store()


def attention(x, qkv, out):
    q, k, v = (rows.reshape(SAMPLES, SEQUENCE, HEADS, -1).transpose(1, 2) for rows in qkv(x).split(WIDTH, -1))
    scores = q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
    hidden = torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool).triu(1)
    y = scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
    return out(y.transpose(1, 2).reshape(TOKENS, WIDTH))


def mlp(x, first, second):
    inner = first(x)
    return second(0.5 * inner * (1 + torch.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3))))


def gated_mlp(x, first, second):
    gate, up = first(x).split(HIDDEN, -1)
    return second(F.silu(gate) * up)


def main():
    case("lora_linear", 6, [("", 6, WIDTH)], lambda x, only: only(x))
    case("lora_mlp", WIDTH, [("in.", WIDTH, HIDDEN), ("out.", HIDDEN, WIDTH)], mlp)
    case("lora_gated_mlp", WIDTH, [("in.", WIDTH, 2 * HIDDEN), ("out.", HIDDEN, WIDTH)], gated_mlp)
    case("lora_attention", WIDTH, [("qkv.", WIDTH, 3 * WIDTH), ("out.", WIDTH, WIDTH)], attention)
    case("lora_attention_qkv", WIDTH, [("qkv.", WIDTH, 3 * WIDTH), ("out.", WIDTH, WIDTH, 0)], attention)
    case("frozen_mlp", WIDTH, [("in.", WIDTH, HIDDEN, 0), ("out.", HIDDEN, WIDTH, 0)], mlp)
    write_vectors(os.path.join(HERE, "lora.safetensors"), found)
    print("torch", torch.__version__)


if __name__ == "__main__":
    main()
