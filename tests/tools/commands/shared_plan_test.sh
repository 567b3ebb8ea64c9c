#!/usr/bin/env bash
# A search for plans in two and three processes under mpirun writes and prints, byte for byte, what one process does; wrong
# input is told once. Usage: shared_plan_test.sh PLUMBLINE. Exit status 77: skipped.
set -euo pipefail
plumbline=$1

source "$(dirname "$0")/../../support/under_mpirun.sh"

# Seeds with replicated stages, plans that do not fit and get another cut, local search, several devices fewer.
search=(plan --network gpt2-medium --cluster a100-1x4 --batch 8 --memory-limit 6GiB --simulations 150 --time-limit 250 --front)
"$plumbline" "${search[@]}" --json "$scratch/one.json" > "$scratch/one.txt"
for count in 2 3; do
  "${launch[@]}" -np $count "$plumbline" "${search[@]}" --json "$scratch/$count.json" > "$scratch/$count.txt"
  cmp "$scratch/one.json" "$scratch/$count.json" || fail "$count processes write other plans"
  cmp "$scratch/one.txt" "$scratch/$count.txt" || fail "$count processes print something else"
done

status=0
"${launch[@]}" -np 2 "$plumbline" plan --network gpt2-medium --cluster a100-1x4 --batch 0 > "$scratch/error" 2>&1 || status=$?
[[ $status == 2 ]] || fail "exit status $status instead of 2"
[[ $(grep -c "expected" "$scratch/error") == 1 ]] || { cat "$scratch/error"; fail "expected once: what was expected"; }
