#pragma once

#include "trainer/cuda/kernels/attention/attention_places.cuh"

namespace plumb::kernels {

/// attended . d attended, by token and head: what the softmax's gradient takes off (FlashAttention, appendix B.4).
template <class T>
__global__ void delta_rows(AttentionBackward<T> attention) {
  const AttentionShape& shape = attention.shape;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (at >= shape.samples * shape.sequence * shape.heads) return;
  const std::int64_t token = at / shape.heads;
  const std::int64_t column = at % shape.heads * shape.head_width;
  const T* attended = attention.attended.rows + token * attention.attended.stride + column;
  const T* gradient = attention.attended_grad.rows + token * attention.attended_grad.stride + column;
  float sum = 0;
  for (std::int64_t j = threadIdx.x % kWarp; j < shape.head_width; j += kWarp) {
    sum += to_float(attended[j]) * to_float(gradient[j]);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) attention.deltas[at] = sum;
}

template <class T>
void attention_deltas(const AttentionBackward<T>& attention, Stream stream) {
  constexpr unsigned int kThreads = 256;
  const std::int64_t warps = attention.shape.samples * attention.shape.sequence * attention.shape.heads;
  const LaunchShape shape{dim3(static_cast<unsigned int>(ceil_div(warps, kThreads / kWarp))), dim3(kThreads)};
  launch(delta_rows<T>, shape, stream, attention);
}

}  // namespace plumb::kernels
