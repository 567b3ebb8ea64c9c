#!/usr/bin/env bash
# What newcomers type first, in words of other systems and of their own: runs every line and prints its exit status and the
# first lines that it answers.
#   results/journeys/first_tries.sh PLUMBLINE > results/journeys/first_tries.txt
# Status 0 is an answer, 3 an answer that says no (a deadlock, a job that does not fit). Status 2 is a question that is not
# whole, or an input that is wrong; its one line says what was expected. The last line counts them.
set -uo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
mkdir run bin && ln -s "$program" bin/plumbline && PATH=$work/bin:$PATH
cp "$source"/tests/sim/traces/data/zb-h1/rank*.json.gz run
printf 'd0: F0 F1 B0 B1\nd1: F0 B0 F1 B1\n' >drawn.txt
printf '# mine\nd0: 0F0 0F1 0B0 0B1\nd1: 1F0 1B0 1F1 1B1\n' >mine.txt
printf 'd0: 0F0 0B0 0F1 0B1\nd1: 1F1 1F0 1B0 1B1\n' >hangs.txt
printf 'd0: 0F9 0F1 0B0 0B1\nd1: 1F0 1B7 1F1 1B1\n' >typo.txt
cat >train.sh <<'SCRIPT'
#!/bin/bash
GPUS_PER_NODE=8
NNODES=8
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES pretrain_gpt.py --tensor-model-parallel-size 4 \
  --pipeline-model-parallel-size 8 --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 \
  --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 \
  --global-batch-size 128 --lr 1e-4 --bf16 --swiglu --normalization RMSNorm --disable-bias-linear --sequence-parallel \
  --untie-embeddings-and-output-weights --use-distributed-optimizer --vocab-size 128256 --tokenizer-type NullTokenizer
SCRIPT

declare -A counted
tried() { # LINES: of each answer; commands from standard input, one a line
  local command status
  while IFS= read -r command; do
    bash -c "$command" >out 2>&1 </dev/null
    status=$?
    counted[$status]=$((${counted[$status]:-0} + 1))
    printf '$ %s\n[exit status %d]\n' "$command" $status
    head -n "$1" out | cut -c1-200
  done
}

echo "== a student"
tried 2 <<'TRIES'
plumbline
plumbline help
plumbline list --names
plumbline show zb-v
plumbline schedules ZBVZeroBubble
plumbline simulate
plumbline simulate 1f1b
plumbline simulate 1F1B -p 4 -m 8
plumbline simulate GPipe --pp 4 --num-microbatches 8
plumbline run Interleaved1F1B -p 4 -m 8 --vpp 2 --summary
plumbline simulate zero-bubble -p 4 -m 8
plumbline simulate zb-h1 -p 4 -m 8 --cost fwd=1,bwd=2
plumbline simulate 1f1b -p 4 -m 8 --cost "F=1 B=2"
plumbline simulate 1f1b -p 4 -m 8 --cost F=1ms,B=2ms,p2p=0.1ms
plumbline simulate 1f1b -p 4 -m 8 --cost 1,2
plumbline simulate 1f1b -p 4 -m 8 -o out.svg
plumbline simulate 1f1b -p 4 -m 8 --svg a.png
plumbline simulate 1f1b -p 4 -m 8 --plot
plumbline simulate 1f1b gpipe -p 4 -m 8
plumbline compare gpipe 1f1b
plumbline sweep -p 4 -m 8
plumbline sweep 1f1b,gpipe -p 2:8 -m 8
plumbline sweep 1f1b gpipe -p 2-8 -m 8
plumbline schedule 1f1b -p 4 -m 8
plumbline simulate dualpipe -p 4 -m 4
plumbline completion
TRIES

echo "== a researcher with an idea for a schedule"
tried 2 <<'TRIES'
plumbline validate drawn.txt
plumbline check mine.txt
plumbline simulate mine.txt
plumbline validate hangs.txt
plumbline validate typo.txt
plumbline convert mine.txt -o mine.csv
plumbline convert mine.txt mine.json
plumbline simulate mine.csv --cost F=1.1,B=2.3
plumbline simulate mine.txt --pdf mine.pdf --summary
plumbline search -p 4 -m 8 --simulations 200 --nodes 1000
plumbline search -p 4 -m 8 --time-limit 5
plumbline search -p 4 -m 8 --memory-limit 3 --simulations 200 --nodes 1000
plumbline sweep all -p 4 -m 8 --html all.html
plumbline schedule zb-h1 -p 4 -m 8 -o zb.svg
plumbline schedule zb-h1 -p 4 -m 8 -o zb.csv
TRIES

echo "== an engineer with a launch script"
tried 3 <<'TRIES'
plumbline simulate train.sh
plumbline simulate train.sh --cluster h100
plumbline simulate --job train.sh --cluster h100-64 --summary
plumbline validate train.sh
plumbline plan --job train.sh --cluster h100 --devices 64 --simulations 8
plumbline plan --from train.sh --cluster h100-8x8 --simulations 8 --runtime nemo
plumbline simulate 1f1b --tensor-model-parallel-size 4 --pipeline-model-parallel-size 8 -m 64 --network llama3-70b --cluster h100-8x8 --summary
plumbline simulate 1f1b -p 8 --devices 16 -m 8
plumbline simulate 1f1b -p 8 -m 16 --tp 2 --network llama3-8b --cluster h100
plumbline simulate 1f1b -p 4 --batch 64 --network llama3-8b --cluster h100
plumbline simulate 1f1b -p 4 -m 8 --network llama3-8b
plumbline simulate 1f1b -p 4 -m 8 --network meta-llama/Llama-3.1-8B --cluster h100 --summary
plumbline simulate llama3-8b -p 4 -m 8
plumbline schedule interleaved -p 4 -m 8 -v 2 --explain
TRIES

echo "== an engineer with traces"
tried 2 <<'TRIES'
plumbline trace run
plumbline trace run/rank*.json.gz --profile run.json --json measured.json --summary
plumbline trace run/rank0.json.gz
plumbline trace train.sh
plumbline advise run
plumbline simulate zb-h1 -p 4 -m 8 --profile run.json --json predicted.json --csv predicted.csv --trace picture.json --summary
plumbline compare predicted.json run
plumbline compare predicted.json measured.json
plumbline compare predicted.json predicted.csv
plumbline compare predicted.json picture.json
plumbline simulate zb-h1 -p 4 -m 8 --profile run/rank0.json.gz
plumbline simulate run/rank0.json.gz
plumbline simulate predicted.csv
TRIES

echo "== a planner of a purchase"
tried 3 <<'TRIES'
plumbline networks
plumbline models llama
plumbline gpus
plumbline clusters h100-64
plumbline plan
plumbline plan --network llama3-70b --cluster h100-8x8
plumbline plan --model Llama-3.1-70B --gpu h100 --gpus 64 --gbs 128 --simulations 8
plumbline plan --network llama3-70b --cluster h100x64 --batch 128
plumbline plan --network llama3-70b --cluster dgx-h100 --batch 128
plumbline plan --network llama3-8b --cluster rtx4090 --batch 128
plumbline plan --network gpt2 --cluster a100 --batch 64 --simulations 8
plumbline plan --network llama3-8b --cluster v100 --batch 64 --simulations 8
plumbline plan --network llama3-8b --cluster gb200 --devices 1024 --batch 1024 --sequence 4096 --simulations 4 --tp 1 --pp 1 --cp 1
plumbline plan --network llama3-8b --cluster h100 --batch 64 --price 2.5 --simulations 8
plumbline plan --network llama3-70b --cluster h100 --devices 64 --batch 128 --runtime megatron --simulations 8
plumbline sweep 1f1b zb-h1 -p 8 -m 64 --network llama3-8b --cluster h100,b200
plumbline campaign varuna -m 32 --network gpt2-small --cluster v100-8x1
plumbline campaign 1f1b -m 32 --network gpt2-small --cluster v100-8x1 --mtbf 24 --nodes 8 --rules checkpoint,pipetransformer
TRIES

echo
for status in "${!counted[@]}"; do echo "exit status $status: ${counted[$status]}"; done | sort
