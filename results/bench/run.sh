#!/usr/bin/env bash
# The benchmarks of results/bench/README.md, on one core of a machine that does nothing else: medians of nine.
#   results/bench/run.sh [OUTPUT.json]
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

readonly raw=${1:-results/bench/raw.json}
readonly bench=build/release/tools/bench/plumb_bench program=build/release/tools/plumbline
cmake --preset release -DPLUMB_TRAINER=ON -DPLUMB_BENCH=ON >/dev/null
cmake --build build/release --target plumb_bench plumbline >/dev/null
taskset -c 0 "$bench" --benchmark_repetitions=9 --benchmark_report_aggregates_only=true --benchmark_out="$raw" \
  --benchmark_out_format=json | grep median
sed -i '/host_name/d' "$raw"

# In a process of its own: memory that earlier benchmarks left behind would not be counted.
taskset -c 0 "$bench" --benchmark_filter=bytes | grep bytes

# Through the command, all included.
for _ in 1 2 3 4 5; do
  taskset -c 0 /usr/bin/env time -f "1f1b P=256 M=16384 through the command: %e s, %M KiB" \
    "$program" simulate 1f1b -p 256 -m 16384 --cost F=1,B=2 --summary --json - >/dev/null
done
sizes=32$(printf ',32%.0s' {2..4000})
for _ in 1 2 3; do
  /usr/bin/env time -f "sweep of 12000 simulations, P=8 M=32, all cores: %e s" \
    "$program" sweep 1f1b gpipe zb-h1 -p 8 -m "$sizes" --cost F=1,B=2 --csv /dev/null >/dev/null
done
