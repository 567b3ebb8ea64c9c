#!/usr/bin/env python3
"""Writes the stored vectors of this folder: what PyTorch computes in float64.

    python3 make_vectors.py          # needs torch, torchvision, transformers, safetensors, numpy

layers.safetensors      layers, forward and backward
optimizers.safetensors  weights after every step of an optimizer
models/                 whole models with the names of their projects, a batch, its loss and its gradients

README.md says what the tensors are and which versions wrote the files.
"""
import json
import math
import os

import numpy
import torch
import torch.nn.functional as F
import torchvision
import transformers
from safetensors.numpy import save_file
from torchvision.models.resnet import BasicBlock, Bottleneck

from drawn_numbers import drawn_numbers

HERE = os.path.dirname(os.path.abspath(__file__))

torch.manual_seed(20261123)
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
# transformers casts to float32 in norms, rotary angles and softmax: here that name means float64.
torch.float = torch.float32 = torch.float64
torch.Tensor.float = torch.Tensor.double

SAMPLES, SEQUENCE, WIDTH, HEADS = 2, 5, 8, 4
TOKENS = SAMPLES * SEQUENCE


def array(tensor):
    return numpy.array(tensor.detach().numpy(), order="C")  # a copy: optimizers change weights in place


# --- layers -----------------------------------------------------------------------------------------------------------

layers = {}


def drawn(name, count):
    return torch.tensor(drawn_numbers(name, count))


def draw(name, shape):
    """Those numbers in Plumbline's order: of an image or a kernel by line, column and channel."""
    values = drawn(name, math.prod(shape))
    if len(shape) < 4:
        return values.reshape(shape)
    n, channels, height, width = shape
    return values.reshape(n, height, width, channels).permute(0, 3, 1, 2).contiguous()


def laid_out(tensor):
    """A tensor of PyTorch as Plumbline has it: a row per token, image or filter."""
    if tensor.dim() == 4:
        tensor = tensor.permute(0, 2, 3, 1).reshape(tensor.shape[0], -1)
    return array(tensor)


def case(name, forward, input_shape, weights, ids=None):
    """One layer: its output, and all gradients for a drawn output gradient (of a loss: for 1)."""
    x = ids if ids is not None else draw(f"{name}/input", input_shape).requires_grad_()
    ws = {key: draw(f"{name}/{key}", shape).requires_grad_() for key, shape in weights.items()}
    y = forward(x, **{key.replace(".", "_"): value for key, value in ws.items()})
    y.backward(draw(f"{name}/output_grad", y.shape) if y.dim() > 0 else torch.ones(()))
    layers[f"{name}/output"] = laid_out(y.reshape(1) if y.dim() == 0 else y)
    if ids is None:
        layers[f"{name}/input_grad"] = laid_out(x.grad)
    for key, value in ws.items():
        layers[f"{name}/gradients/{key}"] = laid_out(value.grad)


def linear_cases():
    case("linear", lambda x, weight, bias: F.linear(x, weight, bias), (TOKENS, 6),
         {"weight": (WIDTH, 6), "bias": (WIDTH,)})
    case("linear_without_bias", lambda x, weight: F.linear(x, weight), (TOKENS, 6), {"weight": (WIDTH, 6)})


def image_cases():
    for name, kernel, stride, padding in [("3x3", 3, 1, 1), ("3x3_stride_2", 3, 2, 1), ("1x1_stride_2", 1, 2, 0)]:
        case(f"convolution_{name}",
             lambda x, weight, bias, s=stride, p=padding: F.conv2d(x, weight, bias, stride=s, padding=p), (2, 3, 6, 5),
             {"weight": (4, 3, kernel, kernel), "bias": (4,)})
    scale = {"weight": (4,), "bias": (4,)}
    case("batch_norm", lambda x, weight, bias: F.batch_norm(x, None, None, weight, bias, training=True), (3, 4, 3, 3),
         scale)
    case("group_norm", lambda x, weight, bias: F.group_norm(x, 2, weight, bias), (3, 4, 3, 3), scale)
    case("relu", F.relu, (3, 4, 3, 3), {})
    case("max_pool", lambda x: F.max_pool2d(x, 3, stride=2, padding=1), (2, 3, 6, 6), {})
    case("average_pool", lambda x: F.avg_pool2d(x, 2), (2, 3, 6, 6), {})
    case("average_pool_whole", lambda x: F.adaptive_avg_pool2d(x, 1), (2, 3, 4, 5), {})


def norm_cases():
    shape, scale, both = (TOKENS, WIDTH), {"weight": (WIDTH,)}, {"weight": (WIDTH,), "bias": (WIDTH,)}
    for name, epsilon in [("", 1e-5), ("_epsilon", 0.01)]:
        case("layer_norm" + name, lambda x, weight, bias, e=epsilon: F.layer_norm(x, (WIDTH,), weight, bias, eps=e),
             shape, both)
        case("rms_norm" + name, lambda x, weight, e=epsilon: F.rms_norm(x, (WIDTH,), weight, eps=e), shape, scale)
    case("layer_norm_without_bias", lambda x, weight: F.layer_norm(x, (WIDTH,), weight), shape, scale)


def frequencies(width, base=10000.0, linear=None, llama3=None):
    """Angles per position, as transformers' modeling_rope_utils has them."""
    f = base ** (-torch.arange(0, width, 2) / width)
    if linear:
        f = f / linear
    if llama3:
        factor, low, high, original = llama3
        length = 2 * math.pi / f
        smooth = (original / length - low) / (high - low)
        middle = (1 - smooth) * f / factor + smooth * f
        f = torch.where(length > original / low, f / factor, torch.where(length < original / high, f, middle))
    return f


def turned(x, f):
    """Rotary embedding of (samples, heads, tokens, width), in halves."""
    angles = torch.outer(torch.arange(x.shape[2], dtype=torch.float64), f)
    cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def attention(heads, kv_heads, causal, rotary=None, window=0):
    def heads_of(rows, count):
        return rows.reshape(SAMPLES, SEQUENCE, count, -1).transpose(1, 2)

    def forward(x, qkv_weight, out_weight, qkv_bias=None, out_bias=None):
        head = WIDTH // heads
        q, k, v = F.linear(x, qkv_weight, qkv_bias).split([WIDTH, kv_heads * head, kv_heads * head], -1)
        q, k, v = heads_of(q, heads), heads_of(k, kv_heads), heads_of(v, kv_heads)
        if rotary is not None:
            q, k = turned(q, rotary), turned(k, rotary)
        k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
        at = torch.arange(SEQUENCE)
        seen = at[None, :] <= at[:, None] if causal else torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool)
        if window:
            seen = seen & (at[None, :] > at[:, None] - window)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return F.linear(y.transpose(1, 2).reshape(TOKENS, WIDTH), out_weight, out_bias)

    return forward


def attention_cases():
    x = (TOKENS, WIDTH)
    whole = {"qkv.weight": (3 * WIDTH, WIDTH), "qkv.bias": (3 * WIDTH,), "out.weight": x[1:] * 2, "out.bias": x[1:]}
    grouped = {"qkv.weight": (2 * WIDTH, WIDTH), "out.weight": (WIDTH, WIDTH)}
    half_biased = dict(grouped, **{"qkv.bias": (2 * WIDTH,)})
    case("attention_causal", attention(HEADS, HEADS, True), x, whole)
    case("attention_to_all", attention(HEADS, HEADS, False), x, whole)
    case("attention_grouped_rotary", attention(HEADS, 2, True, frequencies(2)), x, grouped)
    case("attention_two_wide_heads_rotary", attention(2, 1, True, frequencies(4)), x, grouped)
    case("attention_rotary_base", attention(2, 1, True, frequencies(4, base=500.0)), x, grouped)
    case("attention_rotary_linear", attention(2, 1, True, frequencies(4, linear=4.0)), x, grouped)
    case("attention_rotary_llama3", attention(2, 1, True, frequencies(4, llama3=(8.0, 1.0, 4.0, 64))), x, grouped)
    case("attention_window", attention(2, 1, True, frequencies(4), window=2), x, half_biased)

    def packed(x, **weights):  # PyTorch's own class
        layer = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        names = {"in_proj_weight": weights["qkv_weight"], "in_proj_bias": weights["qkv_bias"],
                 "out_proj.weight": weights["out_weight"], "out_proj.bias": weights["out_bias"]}
        y = x.reshape(SAMPLES, SEQUENCE, WIDTH)
        return torch.func.functional_call(layer, names, (y, y, y), {"need_weights": False})[0].reshape(TOKENS, WIDTH)

    case("attention_torch_class", packed, x, whole)

    def core(x, causal):
        q, k, v = (t.reshape(SAMPLES, SEQUENCE, HEADS, -1).transpose(1, 2) for t in x.split(WIDTH, -1))
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).reshape(TOKENS, WIDTH)

    case("attention_core_causal", lambda x: core(x, True), (TOKENS, 3 * WIDTH), {})
    case("attention_core_to_all", lambda x: core(x, False), (TOKENS, 3 * WIDTH), {})


ACTIVATIONS = {"gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "gelu": F.gelu, "relu": F.relu, "silu": F.silu}


def mlp_cases():
    x, hidden = (TOKENS, WIDTH), 12
    plain = {"in.weight": (hidden, WIDTH), "in.bias": (hidden,), "out.weight": (WIDTH, hidden), "out.bias": (WIDTH,)}
    gated = {"in.weight": (2 * hidden, WIDTH), "out.weight": (WIDTH, hidden)}
    for name, act in ACTIVATIONS.items():
        case(f"mlp_{name}", lambda x, in_weight, in_bias, out_weight, out_bias, act=act:
             F.linear(act(F.linear(x, in_weight, in_bias)), out_weight, out_bias), x, plain)
        case(f"mlp_gated_{name}", lambda x, in_weight, out_weight, act=act:
             F.linear(act(F.linear(x, in_weight)[:, :hidden]) * F.linear(x, in_weight)[:, hidden:], out_weight),
             x, gated)


def token_cases():
    ids = torch.randint(0, 11, (SAMPLES, SEQUENCE))
    targets = torch.randint(0, 11, (TOKENS,))
    layers["tokens"] = array(ids.reshape(-1).double())
    layers["targets"] = array(targets.double())
    case("embedding", lambda x, weight: F.embedding(x, weight).reshape(TOKENS, WIDTH), None, {"weight": (11, WIDTH)},
         ids)
    case("embedding_positions",
         lambda x, weight, positions: (F.embedding(x, weight) + positions[:SEQUENCE]).reshape(TOKENS, WIDTH), None,
         {"weight": (11, WIDTH), "positions": (6, WIDTH)}, ids)
    x = (TOKENS, WIDTH)
    case("head", lambda x, weight: F.cross_entropy(F.linear(x, weight), targets), x, {"weight": (11, WIDTH)})
    case("classifier", lambda x, weight, bias: F.cross_entropy(F.linear(x, weight, bias), targets), x,
         {"weight": (11, WIDTH), "bias": (11,)})


# --- optimizers -------------------------------------------------------------------------------------------------------

STEPS, NUMBERS, RATE = 6, 12, 0.05


def optimizers():
    start = drawn("start", NUMBERS)
    gradients = drawn("gradients", STEPS * NUMBERS).reshape(STEPS, NUMBERS)
    found = {}
    makers = {
        "sgd": lambda w: torch.optim.SGD(w, lr=RATE, weight_decay=0.1),
        "sgd_momentum": lambda w: torch.optim.SGD(w, lr=RATE, momentum=0.9, weight_decay=0.1),
        "adam": lambda w: torch.optim.Adam(w, lr=RATE, weight_decay=0.1),
        "adam_betas": lambda w: torch.optim.Adam(w, lr=RATE, betas=(0.8, 0.95), eps=1e-3),
        "adamw": lambda w: torch.optim.AdamW(w, lr=RATE, weight_decay=0.1),
        "nadam": lambda w: torch.optim.NAdam(w, lr=RATE, weight_decay=0.1, decoupled_weight_decay=True),
    }
    for name, make in makers.items():
        weight = start.clone().requires_grad_()
        optimizer = make([weight])
        for step in range(STEPS):
            weight.grad = gradients[step].clone()
            optimizer.step()
            found[f"{name}/{step + 1}"] = array(weight)
    return found


# --- whole models -----------------------------------------------------------------------------------------------------


def write_model(name, config, model, batch, loss, left_out=()):
    """A folder as `save_pretrained` makes it, with a batch, its loss and gradients by the same names beside it."""
    folder = os.path.join(HERE, "models", name)
    os.makedirs(folder, exist_ok=True)
    loss.backward()
    weights = {key: array(value) for key, value in model.named_parameters() if key not in left_out}
    gradients = {key: array(value.grad) for key, value in model.named_parameters() if key not in left_out}
    buffers = {key: array(value) for key, value in model.named_buffers() if "running" in key or "num_batches" in key}
    if buffers:
        weights.update(buffers)
    save_file(weights, os.path.join(folder, "model.safetensors"))
    save_file(dict({"gradients/" + key: value for key, value in gradients.items()}, loss=array(loss.reshape(1)),
                   **batch), os.path.join(folder, "batch.safetensors"))
    if config is not None:
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file, indent=1, sort_keys=True)
            file.write("\n")


def randomized(model):
    """Norm scales and biases away from 1 and 0, so that no gradient vanishes by symmetry."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn_like(parameter) + (1.0 if parameter.dim() == 1 else 0.0))
    return model.double().train()


def language_model(name, config):
    config._attn_implementation = "sdpa"
    model = randomized(transformers.AutoModelForCausalLM.from_config(config))
    if hasattr(model.config, "rope_parameters"):
        rotary = model.model.rotary_emb  # made before its numbers were doubles
        rotary.__init__(model.config)
    ids = torch.randint(0, config.vocab_size, (SAMPLES, SEQUENCE + 1))
    loss = F.cross_entropy(model(input_ids=ids[:, :-1]).logits.reshape(-1, config.vocab_size), ids[:, 1:].reshape(-1))
    kept = {key: value for key, value in config.to_diff_dict().items() if key not in ("transformers_version", "dtype")}
    batch = {"tokens": array(ids[:, :-1].reshape(-1).double()), "targets": array(ids[:, 1:].reshape(-1).double())}
    write_model(name, kept, model, batch, loss)


def gpt2(name, **changes):
    language_model(name, transformers.GPT2Config(
        vocab_size=11, n_positions=6, n_embd=8, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=0, eos_token_id=0, **changes))


SMALL = dict(vocab_size=11, hidden_size=8, intermediate_size=12, num_attention_heads=2, num_key_value_heads=1,
             max_position_embeddings=256, bos_token_id=0, eos_token_id=0, pad_token_id=None)


class TinyResNet(torch.nn.Module):
    """torchvision's blocks under torchvision's names, narrow enough to be stored."""

    def __init__(self, block, planes):
        super().__init__()
        self.inplanes = 4
        self.conv1 = torch.nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(4)
        self.layer1 = self.layer(block, planes, 2, 1)
        self.layer2 = self.layer(block, 2 * planes, 1, 2)
        self.fc = torch.nn.Linear(2 * planes * block.expansion, 5)

    def layer(self, block, planes, count, stride):  # as torchvision.models.ResNet._make_layer
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = torch.nn.Sequential(
                torchvision.models.resnet.conv1x1(self.inplanes, planes * block.expansion, stride),
                torch.nn.BatchNorm2d(planes * block.expansion))
        made = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        made += [block(self.inplanes, planes) for _ in range(1, count)]
        return torch.nn.Sequential(*made)

    def forward(self, x):
        x = self.layer2(self.layer1(F.relu(self.bn1(self.conv1(x)))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def resnet(name, block, planes):
    model = randomized(TinyResNet(block, planes))
    pixels = torch.randint(0, 256, (2, 3, 6, 6))
    labels = torch.randint(0, 5, (2,))
    loss = F.cross_entropy(model((pixels.double() / 255 - 0.5) * 4), labels)
    write_model(name, None, model, {"tokens": laid_out(pixels.double()), "targets": array(labels.double())}, loss)


def main():
    linear_cases()
    image_cases()
    norm_cases()
    attention_cases()
    mlp_cases()
    token_cases()
    save_file(layers, os.path.join(HERE, "layers.safetensors"))
    save_file(optimizers(), os.path.join(HERE, "optimizers.safetensors"))
    gpt2("gpt2", n_layer=2)
    gpt2("gpt2-relu", n_layer=1, activation_function="relu", layer_norm_epsilon=0.01, n_inner=12,
         tie_word_embeddings=False)
    language_model("llama", transformers.LlamaConfig(**SMALL, num_hidden_layers=1, rms_norm_eps=1e-3, rope_theta=500.0))
    language_model("llama3-rope", transformers.LlamaConfig(
        **SMALL, num_hidden_layers=1, hidden_act="gelu", attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
        rope_parameters={"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0,
                         "high_freq_factor": 4.0, "original_max_position_embeddings": 128}))
    language_model("qwen2", transformers.Qwen2Config(**SMALL, num_hidden_layers=2, use_sliding_window=True,
                                                     sliding_window=3, max_window_layers=1))
    resnet("resnet-bottleneck", Bottleneck, 2)
    resnet("resnet-basic", BasicBlock, 2)
    print("torch", torch.__version__, "torchvision", torchvision.__version__, "transformers", transformers.__version__)


if __name__ == "__main__":
    main()
