#!/usr/bin/env bash
# Trains the same model with every schedule and compares the loss curves: results/learning/run.sh [PROGRAM]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
program=${1:-$here/../../plumbline}

losses() {
  local schedule=$1 devices=$2
  shift 2
  "$program" train "$schedule" -p "$devices" -m 4 --samples 4 --network gpt-tiny --steps 400 --executor serial \
    --learning-rate 0.004 --decay cosine --warmup 40 --losses "$here/$schedule.csv" "$@" >/dev/null
}

for schedule in gpipe 1f1b zb-h1 chimera; do losses "$schedule" 4; done
losses interleaved 2 -v 2
for schedule in pipedream pipemare; do losses "$schedule" 4 --updates 400; done

# Loss of the first update, mean of the last 20, and the largest difference from 1F1B's curve.
for schedule in gpipe 1f1b zb-h1 chimera interleaved pipedream pipemare; do
  paste -d, "$here/1f1b.csv" "$here/$schedule.csv" | awk -F, -v name="$schedule" '
    NR == 2 { first = $4 }
    NR > 1 { d = $4 - $2; if (d < 0) d = -d; if (d > most) most = d; last[NR] = $4; n = NR }
    END { for (i = n - 19; i <= n; ++i) sum += last[i]; printf "| `%s` | %.3f | %.3f | %.1e |\n", name, first, sum / 20, most }'
done
