#!/bin/bash
# GPT-3 175B as Megatron-LM's example trains it: 96 layers, tensor degree 8, 16 pipeline ranks.
PER_NODE=8
NODES=${NODES:-16}
RANKS=$(($PER_NODE*$NODES))
CHECKPOINT=$1

LAUNCH=(--nproc_per_node $PER_NODE --nnodes $NODES)
NETWORK=(
    --num-layers 96   # table 2.1 of the paper
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
)
BATCH="--micro-batch-size 1 --global-batch-size 1536 --fp16 --adam-beta1 0.9"
if [ "$RANKS" -ge 128 ]; then
  SPREAD+=(--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16)
else
  SPREAD+=(--tensor-model-parallel-size 8)
fi
if [ -d "$CHECKPOINT" ]; then BATCH="$BATCH --load $CHECKPOINT"; fi

torchrun ${LAUNCH[@]} pretrain_gpt.py \
    ${NETWORK[@]} $BATCH "${SPREAD[@]}" \
    --vocab-file vocab.json --merge-file merges.txt \
    --rampup-batch-size 32 32 1953125 --frobnicate 7 "$@" | tee log.txt
