#!/usr/bin/env bash
# The benchmarks of results/bench/README.md, on one core of a machine that does nothing else: medians of nine.
#   results/bench/run.sh [OUTPUT.json]
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

readonly raw=${1:-results/bench/raw.json}
./plumbline version >/dev/null
cmake --build build/release --target plumb_bench >/dev/null
taskset -c 0 build/release/tools/bench/plumb_bench --benchmark_repetitions=9 --benchmark_report_aggregates_only=true \
  --benchmark_enable_random_interleaving=true --benchmark_out="$raw" --benchmark_out_format=json |
  grep -E 'median|^Benchmark'

# Through the command, all included.
for run in 1 2 3 4 5; do
  taskset -c 0 /usr/bin/env time -f "command P=256 M=16384: %e s, %M KiB" \
    build/release/tools/plumbline simulate 1f1b -p 256 -m 16384 --cost F=1,B=2 --summary --json - >/dev/null
done
for run in 1 2 3; do
  /usr/bin/env time -f "sweep of 12000 simulations, P=8 M=32, all cores: %e s" \
    build/release/tools/plumbline sweep 1f1b gpipe zb-h1 -p 8 -m "$(seq -s, 1 1 1 | sed 's/.*/32/')$(printf ',32%.0s' {2..4000})" \
    --cost F=1,B=2 --csv /dev/null >/dev/null
done
