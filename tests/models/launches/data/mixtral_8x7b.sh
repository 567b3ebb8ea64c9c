#!/bin/bash
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=8
# Mixtral 8x7B with the degrees of Megatron-LM's example: 4 pipeline ranks, 8 expert ranks.
model() {
  ARGS="--use-mcore-models --disable-bias-linear --seq-length 4096 --num-layers 32 --hidden-size $1 \
        --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 \
        --swiglu --untie-embeddings-and-output-weights --normalization RMSNorm --position-embedding-type rope \
        --attention-dropout 0.0 --hidden-dropout 0.0"
}
model 4096
MOE="--num-experts 8 --moe-router-topk 2 --moe-token-dispatcher-type alltoall --moe-grouped-gemm"
case ${PRECISION:-bf16} in
  fp8) NUMBERS="--bf16 --fp8-format hybrid --fp8-recipe blockwise" ;;
  *) NUMBERS="--bf16" ;;
esac
run="python pretrain_gpt.py $ARGS $MOE $NUMBERS --tokenizer-type Llama2Tokenizer --make-vocab-size-divisible-by 1 \
     --micro-batch-size 1 --global-batch-size 256 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 \
     --num-layers-per-virtual-pipeline-stage 2 --expert-model-parallel-size 8 --use-distributed-optimizer \
     --overlap-grad-reduce --overlap-param-gather"
srun --container-image=x bash -c "cd /workspace; ${run} --mock-data"
