#!/usr/bin/env bash
# The twelve questions that people come with, the first command that a newcomer types for each, and the whole answer:
#   results/journeys/first_commands.sh PLUMBLINE > results/journeys/first_commands.txt
# A test holds the text against the program.
set -uo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
mkdir run bin && ln -s "$program" bin/plumbline && PATH=$work/bin:$PATH
cp "$source"/tests/sim/traces/data/class-1f1b/rank*.json.gz run
cp "$source"/tests/models/launches/data/gpt3_175b.sh train.sh
printf 'd0: 0F0 0F1 0B0 0B1\nd1: 1F0 1B0 1F1 1B1\n' >mine.txt
unset COLUMNS

asked() { # QUESTION COMMAND
  local status
  bash -c "$2" >out 2>&1 </dev/null
  status=$?
  printf '== %s\n$ %s\n' "$1" "$2"
  cat out
  printf '[exit status %d]\n\n' $status
}

asked 'What does a schedule look like?' 'plumbline simulate 1f1b -p 4 -m 8'
asked 'Which schedule has the fewest bubbles?' 'plumbline sweep 1f1b interleaved zb-h1 zb-v -p 4 -m 8'
asked 'Which schedule is best for my memory?' 'plumbline sweep all -p 8 -m 32 --memory-limit 6'
asked 'How long does a step of my model take, and does it fit?' \
  'plumbline simulate 1f1b -p 8 -m 64 --network llama3-8b --cluster h100-1x8 --summary'
asked 'Which configuration is fastest for my model on my GPUs?' \
  'plumbline plan --network gpt2-small --cluster a100-1x2 --batch 4'
asked 'What does my launch script do?' 'plumbline simulate train.sh --cluster h100 --summary'
asked 'Is my own schedule correct?' 'plumbline validate mine.txt'
asked 'Where are the bubbles of my run?' 'plumbline trace run --summary'
asked 'Which schedule would make my run faster?' 'plumbline advise run'
asked 'Is there a better order than the published ones?' \
  'plumbline search -p 4 -m 8 --memory-limit 3 --simulations 200 --nodes 1000'
asked 'What is zb-v, and who runs it?' 'plumbline schedules zb-v'
asked 'What do node failures cost?' 'plumbline campaign --trace bamboo-p3 --layouts bamboo-gpt2'
