#!/usr/bin/env bash
# run_schedule.py in a real PyTorch: gradients and order of three schedules are right, an order that lacks its REDUCE_GRAD
# is found out, wrong files are refused in one line, and the traces can be read.
# Usage: pytorch_test.sh PLUMBLINE SOURCE_DIRECTORY. PYTHON: which python3. Exit status 77: skipped.
set -euo pipefail
plumbline=$1
script=$2/tools/examples/pytorch/run_schedule.py
python=${PYTHON:-python3}

skip() {
  echo "skipped: $1"
  exit 77
}
fail() {
  echo "failed: $1"
  exit 1
}
"$python" -c 'import torch.distributed.pipelining.schedules as s; s._PipelineScheduleRuntime' 2> /dev/null ||
  skip "there is no PyTorch with torch.distributed.pipelining"

scratch=$(mktemp -d "${SCRATCH:-/tmp}/pytorch_test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
run() { "$python" "$script" "$scratch/$1.csv" --out "$scratch/$1" --steps 1 --traced 1 "${@:2}"; }
written() { "$plumbline" schedule "$@" --format torch-comms; }

for name in zb-h1 dualpipev hanayo; do
  written "$name" -p 2 -m 4 > "$scratch/$name.csv"
  run "$name" > "$scratch/said" || fail "$name: $(cat "$scratch/said")"
  grep -q '^gradients   equal to one device' "$scratch/said" || fail "$name: no gradients"
  grep -q '^order       as given, on every rank' "$scratch/said" || fail "$name: other order"
  "$plumbline" trace "$scratch/$name"/rank*.json.gz --summary | grep -q '^traced steps ' || fail "$name: no trace"
done

sed 's/,[0-9]*REDUCE_GRAD//g' "$scratch/zb-h1.csv" > "$scratch/unscaled.csv"
status=0
run unscaled > "$scratch/said" || status=$?
[ "$status" = 1 ] || fail "gradients that nobody scaled: exit status $status"
grep -q '^gradients   DIFFER' "$scratch/said" || fail "gradients that nobody scaled are called equal"

sed 's/1F0/1R0/' "$scratch/zb-h1.csv" > "$scratch/wrong.csv"
status=0
run wrong > /dev/null 2> "$scratch/said" || status=$?
[ "$status" = 2 ] || fail "an unknown action: exit status $status"
grep -q "wrong.csv:2: cell 3: '1R0' is not an action" "$scratch/said" || fail "an unknown action: $(cat "$scratch/said")"
[ "$(wc -l < "$scratch/said")" = 1 ] || fail "an unknown action takes more than a line"
