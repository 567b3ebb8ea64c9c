#!/usr/bin/env bash
# measure_device.py in a real PyTorch on this machine's CPU: every kernel that is asked for comes back with its seconds, also
# for Llama's layers, 16-bit numbers and the collectives of two ranks; the device's document predicts a step; and what
# cannot be read is told in one line. Times are printed beside their predictions and not judged: the machine may be busy.
# Usage: measure_device_test.sh PLUMBLINE. PYTHON: which python3. Exit status 77: skipped.
set -euo pipefail
plumbline=$1
python=${PYTHON:-python3}

"$python" -c 'import torch' 2> /dev/null || { echo "skipped: there is no PyTorch"; exit 77; }

scratch=$(mktemp -d "${SCRATCH:-/tmp}/measure_device_test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() {
  echo "failed: $1"
  exit 1
}

# Measures the kernels of network $1 with the options that follow, and predicts a pipeline of it by what was measured.
measured() {
  local network=$1 precision=$2
  "$plumbline" device measure --network "$network" --precision "$precision" --python "$python" --on cpu --threads 1 \
    --seconds 0.005 --timings timings.json --cluster-output machine.json -o device.json "${@:3}" > said
  grep -q '^whole step ' said || fail "$network: no measured step beside the predicted one: $(cat said)"
  sed -n '/^training step /,/^whole step /p' said
  "$plumbline" device measure --network "$network" --precision "$precision" --script asked > /dev/null
  "$python" - asked/kernels.json timings.json << 'PY' || fail "$network: kernels that were asked for are missing"
import json, sys
asked, timed = (json.load(open(name, encoding="utf-8"))["kernels"] for name in sys.argv[1:])
seconds = [kernel.pop("seconds") for kernel in timed]
sys.exit(0 if timed == asked and min(seconds) > 0 else 1)
PY
  "$plumbline" simulate 1f1b -p 1 -m 4 --network "$network" --precision "$precision" --cluster machine.json --tp 1 \
    --rates device.json --json answer.json --summary > said
  grep -q 'rates measured on ' said || fail "$network: the answer does not say that its rates were measured: $(cat said)"
}

measured gpt-tiny single
measured llama-tiny single
measured gpt-tiny mixed

"$plumbline" device measure --network gpt-tiny --precision single --script asked > /dev/null
"$python" asked/measure_device.py asked/kernels.json -o two.json --device cpu --threads 1 --seconds 0.001 --steps 2 --ranks 2 \
  --largest 16 > said 2>&1 || fail "two ranks: $(cat said)"
"$plumbline" device import two.json --network gpt-tiny --cluster-output machine.json -o device.json > said
grep -q '"op":"all-reduce","ranks":2' device.json || fail "the document of two ranks has no collectives"
"$plumbline" simulate 1f1b -p 1 -m 4 --network gpt-tiny --precision single --cluster machine.json --tp 2 \
  --rates device.json --summary > said || fail "two tensor ranks are not predicted: $(cat said)"

echo '{"format": "plumbline-schedule"}' > asked/other.json
status=0
"$python" asked/measure_device.py asked/other.json > said 2>&1 || status=$?
[ "$status" = 1 ] || fail "another document: exit status $status"
[ "$(cat said)" = "asked/other.json: expected a document 'plumbline-kernels', see \`plumbline device measure --help\`" ] ||
  fail "another document: $(cat said)"
