#!/usr/bin/python3
"""The fastest configuration of a model on a cluster, and how to launch it.

    PYTHONPATH=build/release/python tools/python/examples/plan_a_job.py [NETWORK CLUSTER BATCH]

For Llama-3-70B on 64 H100, which takes the 30 seconds that the search is given: llama3-70b h100-8x8 512
"""
import sys

import plumbline

network, cluster, batch = (sys.argv[1:] + ["gpt2-medium", "a100-1x4", "32"])[:3]
plan = plumbline.plan(network, cluster, int(batch), runtime="megatron", time_limit=30)
if not plan:
    sys.exit("\n".join(plan.findings))
print(plan)
print("\nthe order that each rank runs, as PyTorch's runtime reads it:")
print("\n".join(line[:70] for line in plumbline.convert(plan.schedule, to="torch-csv").splitlines()[:2]))
