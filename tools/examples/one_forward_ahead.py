#!/usr/bin/env python3
"""A schedule of one's own: 1F1B whose devices run a forward ahead of what they need.

Prints it as PyTorch CSV, one line per device. Any program in any language will do, as long as it takes these options
and prints JSON, CSV or text:

    plumbline simulate exec:tools/examples/one_forward_ahead.py -p 4 -m 8 --cost F=1,B=2
    plumbline train exec:tools/examples/one_forward_ahead.py -p 2 -m 4 --network gpt-tiny
    plumbline schedule exec:tools/examples/one_forward_ahead.py -p 4 -m 8 --explain
"""

import argparse


def device_list(device, devices, microbatches):
    warmup = min(devices - device, microbatches)
    actions = [f"{device}F{i}" for i in range(warmup)]
    for i in range(microbatches):
        if warmup + i < microbatches:
            actions.append(f"{device}F{warmup + i}")
        actions.append(f"{device}B{i}")
    return actions


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-p", type=int, required=True, help="devices")
    parser.add_argument("-m", type=int, required=True, help="microbatches per update")
    arguments = parser.parse_args()
    for device in range(arguments.p):
        print(",".join(device_list(device, arguments.p, arguments.m)))


main()
