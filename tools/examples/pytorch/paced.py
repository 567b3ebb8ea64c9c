"""Modules for run_schedule.py that compute little and sleep: a schedule's run-time behaviour without GPUs.

Each pass of the whole model takes PACE milliseconds (forward, input gradient, weight gradient; 40,40,40 unless the
environment says otherwise), shared evenly by the stages. A sleeping process needs no core, so many ranks run honestly
on few cores; autograd, Python, messages and gradients are real.
"""
import os
import time

import torch
from torch import nn
from torch.autograd import Function

FORWARD_MS, INPUT_MS, WEIGHT_MS = (float(ms) for ms in os.environ.get("PACE", "40,40,40").split(","))
WIDTH = int(os.environ.get("PACE_WIDTH", 32))
SEQUENCES = int(os.environ.get("PACE_SEQUENCES", 32))


class Pause(Function):
    """Passes its input on; sleeps in the forward and in the backward."""

    @staticmethod
    def forward(ctx, value, forward_ms, backward_ms):
        ctx.backward_ms = backward_ms
        time.sleep(forward_ms / 1e3)
        return value.clone()  # a view could not be a stage's output: PyTorch detaches outputs in place

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(ctx.backward_ms / 1e3)
        return gradient, None, None


class PacedLayer(nn.Module):
    def __init__(self, share):
        super().__init__()
        self.share = share
        self.weight = nn.Parameter(torch.randn(WIDTH, WIDTH) / WIDTH**0.5)

    def forward(self, x):
        weight = Pause.apply(self.weight, 0, WEIGHT_MS * self.share)
        return Pause.apply(torch.tanh(x @ weight), FORWARD_MS * self.share, INPUT_MS * self.share)


def model(stage, num_stages):
    return PacedLayer(1 / num_stages)


def batch(num_microbatches):
    shape = (num_microbatches * SEQUENCES, WIDTH)
    return torch.randn(shape), torch.randn(shape)


def loss(output, target):
    return nn.functional.mse_loss(output, target)
