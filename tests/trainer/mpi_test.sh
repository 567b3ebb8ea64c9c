#!/usr/bin/env bash
# Several processes under mpirun: the bits of one thread for all schedules; a killed process ends the job within seconds
# and the run goes on from its checkpoints, in several processes or in one; wrong input is told once.
# The same with messages by links of a stand-in for NCCL.
# Usage: mpi_test.sh PLUMBLINE MPI_EQUALITY KILL_AND_RESUME FAKE_NCCL. Exit status 77: skipped.
set -euo pipefail
plumbline=$1
equality=$2
victim=$3
fake_nccl=$4

source "$(dirname "$0")/../support/under_mpirun.sh"

# expect_error STATUS TEXT COMMAND...: the command ends with the status and says the text exactly once.
expect_error() {
  local status=0
  "${@:3}" > "$scratch/out" 2>&1 || status=$?
  [[ $status == "$1" ]] || fail "exit status $status instead of $1: ${*:3}"
  [[ $(grep -cF -- "$2" "$scratch/out") == 1 ]] || { cat "$scratch/out"; fail "expected once: $2"; }
}

# compare_all [LIBRARY]: by the hosts, or by the links of a library.
compare_all() {
  "${launch[@]}" -np 4 "$equality" "$@" > "$scratch/equality" || { cat "$scratch/equality"; fail "some runs differ"; }
  for schedule in gpipe 1f1b interleaved zb-h1 'zb-h1 validation=post' chimera pipedream 'pipemare timing=slots' \
    dualpipev 1f1b-rr bpipe gems; do
    grep -qx "$schedule: the same" "$scratch/equality" || { cat "$scratch/equality"; fail "$schedule was not compared"; }
  done
  echo "$(wc -l < "$scratch/equality") runs are the same"
}
echo "-- every schedule in four processes and on one thread"
compare_all
echo "-- the same with messages by links"
compare_all "$fake_nccl"

echo "-- the command"
run=(train 1f1b -p 4 -m 8 --network gpt-tiny --steps 3)
"$plumbline" "${run[@]}" --executor serial --losses "$scratch/serial.csv" --json "$scratch/serial.json" > /dev/null
"${launch[@]}" -np 4 "$plumbline" "${run[@]}" --transport mpi --losses "$scratch/mpi.csv" --json "$scratch/mpi.json" \
  > "$scratch/printed"
cmp "$scratch/serial.csv" "$scratch/mpi.csv" || fail "the losses differ"
"$plumbline" compare "$scratch/serial.json" "$scratch/mpi.json" --memory-exact > /dev/null || fail "the peaks differ"
[[ $(grep -c '^step time' "$scratch/printed") == 1 ]] || fail "the result is not printed once"

echo "-- evaluation, methods and updates that are validated late, in processes as on one thread"
compare_runs() {  # ARGUMENTS: both ways, the same losses and evaluations
  "$plumbline" train "$@" --executor serial --summary --json "$scratch/serial.json" > /dev/null
  "${launch[@]}" -np 4 "$plumbline" train "$@" --transport mpi --summary --json "$scratch/mpi.json" > /dev/null
  for file in serial mpi; do grep '^"training":' "$scratch/$file.json" > "$scratch/$file.training"; done
  grep -q '"evaluations":\[{"updates"' "$scratch/mpi.training" || fail "no evaluations: $*"
  cmp "$scratch/serial.training" "$scratch/mpi.training" || fail "losses or evaluations differ: $*"
}
evaluating=(--network gpt-tiny --samples 1 --sequence 16 --evaluate-every 2 --evaluate-samples 8)
compare_runs 1f1b -p 4 -m 4 --steps 4 "${evaluating[@]}"
compare_runs pipemare -p 4 -m 2 --steps 6 --t1 --t2 "${evaluating[@]}"
compare_runs zb-h2 -p 4 -m 8 --opt validation=post --steps 4 --clip global --clip-norm 0.5 "${evaluating[@]}"

echo "-- what is wrong is told once, with status 2"
expect_error 2 "3 processes and 4 devices; expected one process per device" \
  "${launch[@]}" -np 3 "$plumbline" "${run[@]}" --transport mpi
expect_error 2 "unknown train option '--stepz'" "${launch[@]}" -np 4 "$plumbline" "${run[@]}" --transport mpi --stepz
expect_error 2 "expected threads with several processes" \
  "${launch[@]}" -np 4 "$plumbline" "${run[@]}" --transport mpi --executor serial
if "$plumbline" version | grep -q '^back ends.* cuda' && ! ldconfig -p | grep -q libcuda.so.1; then
  expect_error 2 "no CUDA device (driver missing)" \
    "${launch[@]}" -np 4 "$plumbline" "${run[@]}" --transport mpi --backend cuda
fi
# Without a job every process speaks for itself.
status=0
"${launch[@]}" -np 4 "$plumbline" "${run[@]}" > "$scratch/out" 2>&1 || status=$?
[[ $status == 2 ]] || fail "exit status $status instead of 2 without --transport mpi"
grep -qF "mpirun has started 4 processes, which would all do the same work; expected --transport mpi" "$scratch/out" ||
  { cat "$scratch/out"; fail "nothing was said of the missing --transport mpi"; }
expect_error 2 "--transport nccl: works between GPUs only, expected --backend cuda instead of cpu" \
  "${launch[@]}" -np 4 "$plumbline" "${run[@]}" --transport nccl
expect_error 2 "process 0: error: /dev/full: cannot write" \
  "${launch[@]}" -np 4 "$plumbline" "${run[@]}" --transport mpi --losses /dev/full
expect_error 2 "1 process and 4 devices" "$plumbline" "${run[@]}" --transport mpi
"$plumbline" train gpipe -p 1 -m 2 --network gpt-tiny --transport mpi > /dev/null || fail "one process without mpirun"

# saved DIRECTORY: how many checkpoints it has.
saved() { find "$1" -maxdepth 1 -name 'update-*' ! -name '*.unfinished' 2> /dev/null | wc -l; }

# kill_one SCHEDULE DIRECTORY mpi|LIBRARY: starts four processes, slow ones, and kills the third once the run has saved
# something.
kill_one() {
  local started status=0
  "${launch[@]}" -np 4 "$victim" "$1" "$3" "$2" 50 > "$scratch/killed" 2>&1 &
  local job=$!
  until [[ $(saved "$2") -ge 2 ]]; do
    kill -0 "$job" 2> /dev/null || { cat "$scratch/killed"; fail "$1 ended before it was killed"; }
    sleep 0.01
  done
  kill -9 "$(pgrep -P "$job" -f "^$victim" | sed -n 3p)"
  started=$SECONDS
  wait "$job" 2> /dev/null || status=$?
  [[ $status != 0 ]] || fail "$1: the job ended well although a process was killed"
  ((SECONDS - started <= 10)) || fail "$1: the job took $((SECONDS - started)) s to end"
  grep -q 'signal 9' "$scratch/killed" || { cat "$scratch/killed"; fail "$1: nothing was said of the killed process"; }
}

echo "-- a killed process ends the job, and the run goes on"
kill_and_go_on() {  # SCHEDULE mpi|LIBRARY
  local expected
  expected=$("$victim" "$1" serial)
  kill_one "$1" "$scratch/$1" "$2"
  cp -r "$scratch/$1" "$scratch/copy"
  [[ $("${launch[@]}" -np 4 "$victim" "$1" "$2" "$scratch/$1") == "$expected" ]] ||
    fail "$1: resumed in processes to other weights"
  [[ $("$victim" "$1" serial "$scratch/copy") == "$expected" ]] || fail "$1: resumed on one thread to other weights"
  rm -rf "$scratch/copy" "${scratch:?}/$1"
}
for schedule in 1f1b chimera pipemare; do kill_and_go_on "$schedule" mpi; done
echo "-- the same with messages by links, and a link that fails"
kill_and_go_on 1f1b "$fake_nccl"
status=0
"${launch[@]}" -np 4 -x PLUMB_FAKE_NCCL="send 20 fail" "$victim" 1f1b "$fake_nccl" > "$scratch/out" 2>&1 || status=$?
[[ $status != 0 ]] || fail "the job ended well although a link failed"
grep -q "NCCL: no message from device" "$scratch/out" || { cat "$scratch/out"; fail "nothing was said of the failed link"; }

echo "-- a run of one process goes on in four"
{ timeout -s KILL 0.5 "$victim" 1f1b serial "$scratch/one" 50 > /dev/null || true; } 2> /dev/null
[[ $("${launch[@]}" -np 4 "$victim" 1f1b mpi "$scratch/one") == $("$victim" 1f1b serial) ]] ||
  fail "1f1b: a checkpoint of one process was resumed to other weights"
echo "done"
