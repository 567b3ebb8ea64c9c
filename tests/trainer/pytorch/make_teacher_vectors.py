#!/usr/bin/env python3
"""Writes teacher.safetensors: a student that learns from a teacher as TSPipe's released code trains it.

    git clone https://github.com/kaist-ina/TSPipe
    python3 make_teacher_vectors.py TSPipe     # needs torch and numpy

Taken from that checkout as it is: the loss of its benchmark (`SoftTarget`), and which version of the weights a batch
reads (`model_id_to_use`). Without a pipeline, all microbatches of an update at once. README.md says which versions
wrote the file.
"""
import ast
import importlib.util
import math
import os
import sys

import torch
import torch.nn.functional as F

from drawn_numbers import drawn_numbers
from vector_file import write_vectors

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS, WIDTH, HIDDEN = 11, 6, 9
SAMPLES, SEQUENCE, MICROBATCHES, UPDATES = 2, 3, 8, 5
RATE, MOMENTUM = 0.5, 0.9
SHAPES = {"embedding.weight": (WORDS, WIDTH), "inner.weight": (HIDDEN, WIDTH), "inner.bias": (HIDDEN,),
          "head.weight": (WORDS, HIDDEN)}

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
found = {}


def released(checkout):
    """SoftTarget and model_id_to_use of the checkout."""
    spec = importlib.util.spec_from_file_location("st", os.path.join(checkout, "benchmarks/soft_target/kd_losses/st.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with open(os.path.join(checkout, "tspipe/gpu_task.py")) as file:
        tree = ast.parse(file.read())
    tree.body = [node for node in tree.body if getattr(node, "name", "") == "model_id_to_use"]
    names = {}
    exec(compile(tree, "gpu_task.py", "exec"), names)
    return module.SoftTarget, names["model_id_to_use"]


def draw(whose):
    return {name: torch.tensor(drawn_numbers(f"{whose}/{name}", math.prod(shape))).reshape(shape)
            for name, shape in SHAPES.items()}


def ids(what, microbatch):
    return [int((x + 1) / 2 * WORDS) for x in drawn_numbers(f"{what}/{microbatch}", SAMPLES * SEQUENCE)]


def logits(weights, tokens):
    x = F.embedding(tokens, weights["embedding.weight"])
    return F.relu(x @ weights["inner.weight"].T + weights["inner.bias"]) @ weights["head.weight"].T


def case(name, teacher, weight, temperature, decay, SoftTarget, model_id_to_use):
    student = {key: value.clone().requires_grad_() for key, value in draw("student").items()}
    optimizer = torch.optim.SGD(student.values(), lr=RATE, momentum=MOMENTUM)
    # By model id, that of the newest batch in it: what `compute_optimize_gpu` pushes.
    targets = {0: draw(teacher)}
    losses = []
    for batch in range(1, UPDATES + 1):
        numbers = range((batch - 1) * MICROBATCHES, batch * MICROBATCHES)
        tokens = torch.tensor(sum((ids("tokens", k) for k in numbers), []))
        expected = torch.tensor(sum((ids("targets", k) for k in numbers), []))
        assert model_id_to_use(batch, False, 0, 0, False) == batch - 1  # the student is synchronous
        with torch.no_grad():
            said = logits(targets[model_id_to_use(batch, True, 0, 0, False)], tokens)
        out = logits(student, tokens)
        loss = (1 - weight) * F.cross_entropy(out, expected) + weight * SoftTarget(temperature)(out, said)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        old = targets[batch - 1]
        targets[batch] = {key: decay * old[key] + (1 - decay) * student[key].detach() for key in SHAPES}
    found[f"{name}/losses"] = torch.tensor(losses)
    for key in SHAPES:
        found[f"{name}/{key}"] = student[key].detach()


def main():
    code = released(sys.argv[1])
    case("follows", "student", 0.3, 2.5, 0.9, *code)
    case("given", "teacher", 0.5, 2.0, 0.8, *code)
    case("fixed", "teacher", 1.0, 4.0, 1.0, *code)
    write_vectors(os.path.join(HERE, "teacher.safetensors"), found)
    print("torch", torch.__version__, found["follows/losses"].tolist())


if __name__ == "__main__":
    main()
