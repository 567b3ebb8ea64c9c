#!/usr/bin/env bash
# Walks the journeys of four users with an unpacked tarball and the explorer, and prints every command with its first lines,
# its exit status and its seconds:
#   results/journeys/walk.sh PLUMBLINE EXPLORER.HTML
# PLUMBLINE is the program (bin/plumbline of a tarball). The teacher's page needs Node and Chromium.
set -uo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(readlink -f "$1")
explorer=$(readlink -f "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
ln -s "$source/tests/sim/traces/data/zb-h1" run
cp "$source/tests/schedules/data/torch/InterleavedZeroBubble_P4_V2_M8.csv" pytorch.csv

walk() { # LINES COMMAND...: shows so many lines
  local lines=$1 began status shown
  shift
  shown=${*//$source\//} # as it would be typed in the source tree
  shown=${shown//$explorer/explorer.html}
  began=$(date +%s.%N)
  bash -c "${*//plumbline /$program }" >out 2>&1
  status=$?
  awk -v began="$began" -v now="$(date +%s.%N)" -v command="$shown" -v status=$status \
    'BEGIN { printf "$ %s\n[%.1f s, exit status %d]\n", command, now - began, status }'
  sed 's/ *$//' out | head -n "$lines" | cut -c1-160
}

echo "== A: a student with an own schedule"
printf 'd0: 0F0 0F1 0B0 0B1\nd1: 1F0 1B0 1F1 1B1\n' >mine.txt
printf 'd0: 0F0 0B0 0F1 0B1\nd1: 1F1 1F0 1B0 1B1\n' >hangs.txt
printf '# a first draft\nd0: F0 0F1 0B0 0B1\nd1: 1B0 1F0 1Q0 1F1 1B\n' >typos.txt
walk 2 'plumbline validate mine.txt'
walk 4 'plumbline validate hangs.txt'
walk 6 'plumbline validate typos.txt'
walk 12 'plumbline simulate mine.txt'
walk 7 'plumbline search -p 4 -m 8 --cost F=1,I=1,W=1 --memory-limit 3 --simulations 500 -o order.json'
walk 3 'plumbline simulate 1F1B -p 4 -m 8 --summary'
walk 4 'plumbline simulate mine.txt --pdf mine.pdf --svg mine.svg --png mine.png --width 8.5 --caption "My schedule." --summary && ls -l mine.p*'

echo "== B: an engineer, Llama-3-70B on 64 H100"
walk 14 'plumbline plan --network llama3-70b --cluster h100 --devices 64 --batch 128 --runtime megatron --time-limit 60 --guide'
awk '/^next:/ { found = 1; next } found' out >again
walk 9 "$(cat again) --summary"

echo "== C: a teacher"
walk 4 "node '$source/results/journeys/open_page.mjs' '$explorer'"

echo "== D: a real run, a CSV"
walk 10 'plumbline trace run/rank*.json.gz --summary'
walk 8 'plumbline trace run/rank*.json.gz --summary --profile run.json && plumbline simulate zb-h1 -p 4 -m 8 --profile run.json --json predicted.json --summary && plumbline compare predicted.json run/rank*.json.gz'
walk 8 'plumbline advise run/rank*.json.gz'
walk 3 "plumbline validate pytorch.csv"
