#!/usr/bin/env python3
"""Work of another program on the GPU until it is killed: PyTorch copies 1 GiB again and again. Nothing of Plumbline knows of it.

Without NVIDIA's MPS the driver lets two processes take turns, so this takes whole stretches of time, not only bandwidth.
"""
import torch

source = torch.empty(1 << 28, dtype=torch.float32, device="cuda")
copy = torch.empty_like(source)
while True:
    for _ in range(10):
        copy.copy_(source)
    torch.cuda.synchronize()
