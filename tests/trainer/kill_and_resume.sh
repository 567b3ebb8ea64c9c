#!/usr/bin/env bash
# Kills a training run (SIGKILL) at random moments and resumes it, until it ends; its weights must be those of a run that
# was never killed. Every death may cost only the updates since the last checkpoint, so a run gets on at every try.
# Usage: kill_and_resume.sh PROGRAM [DEATHS]
set -euo pipefail
program=$1
deaths=${2:-20}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
RANDOM=${SEED:-7}

died=0
round=0
while ((died < deaths)); do
  round=$((round + 1))
  schedules=(1f1b zb-h1 chimera pipedream pipemare)
  schedule=${schedules[round % 5]}
  executors=(threads serial)
  executor=${executors[round % 2]}
  expected=$("$program" "$schedule" serial)
  directory=$scratch/$round
  while true; do
    "$program" "$schedule" "$executor" "$directory" > "$scratch/out" &
    victim=$!
    sleep "0.$(printf '%03d' $((RANDOM % 400 + 5)))"
    kill -9 "$victim" 2> /dev/null || true
    if wait "$victim" 2> /dev/null; then break; fi
    died=$((died + 1))
    echo "$schedule $executor: death $died with $(ls "$directory" 2> /dev/null | grep -c '^update-[0-9]*$' || true) checkpoints"
  done
  if [[ $(cat "$scratch/out") != "$expected" ]]; then
    echo "$schedule $executor: resumed to $(cat "$scratch/out"), expected $expected" >&2
    exit 1
  fi
done
echo "$died deaths, every run ended with the weights of an undisturbed one"
