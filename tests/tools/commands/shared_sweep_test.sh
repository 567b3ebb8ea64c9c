#!/usr/bin/env bash
# A sweep in two and three processes under mpirun writes and prints, byte for byte, what one process does; wrong input is
# told once. Usage: shared_sweep_test.sh PLUMBLINE. Exit status 77: skipped.
set -euo pipefail
plumbline=$1

source "$(dirname "$0")/../../support/under_mpirun.sh"

# Some points fail (interleaved with 9 microbatches), some have intervals of repeated runs.
sweep=(sweep 1f1b interleaved zb-v -p 2,4 -m '8:9:1' --cost 'F=1,I=1,W=1;F=2,B=3' --jitter 0.1 --runs 5)
"$plumbline" "${sweep[@]}" --csv "$scratch/one.csv" > "$scratch/one.txt"
for count in 2 3; do
  "${launch[@]}" -np $count "$plumbline" "${sweep[@]}" --csv "$scratch/$count.csv" > "$scratch/$count.txt"
  cmp "$scratch/one.csv" "$scratch/$count.csv" || fail "$count processes write other rows"
  cmp "$scratch/one.txt" "$scratch/$count.txt" || fail "$count processes print something else"
done

status=0
"${launch[@]}" -np 2 "$plumbline" sweep 1f1c -p 4 -m 8 > "$scratch/error" 2>&1 || status=$?
[[ $status == 2 ]] || fail "exit status $status instead of 2"
[[ $(grep -c "unknown schedule '1f1c'" "$scratch/error") == 1 ]] || { cat "$scratch/error"; fail "expected once: unknown"; }
