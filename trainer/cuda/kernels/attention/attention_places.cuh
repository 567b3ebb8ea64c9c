#pragma once

#include "trainer/cuda/kernels/attention/attention.hpp"
#include "trainer/cuda/kernels/platform.cuh"

namespace plumb::kernels {

/// One head of one sample, and where its rows begin.
struct HeadPlace {
  std::int64_t sample;
  std::int64_t head;     ///< head of the queries
  std::int64_t kv_head;  ///< head of keys and values

  template <class T>
  __device__ T* of_queries(const HeadRows<T>& all, const AttentionShape& shape) const {
    return all.rows + sample * shape.sequence * all.stride + head * shape.head_width;
  }
  template <class T>
  __device__ T* of_keys(const HeadRows<T>& all, const AttentionShape& shape) const {
    return all.rows + sample * (shape.before + shape.sequence) * all.stride + kv_head * shape.head_width;
  }
  /// Place of a query's number in arrays by token and head.
  __device__ std::int64_t statistic(const AttentionShape& shape, std::int64_t query) const {
    return (sample * shape.sequence + query) * shape.heads + head;
  }
};

__device__ inline HeadPlace head_of_block(const AttentionShape& shape) {
  const std::int64_t head = blockIdx.y;
  return {blockIdx.z, head, head / shape.group};
}

/// Keys of a sample that count at all.
__device__ inline std::int64_t keys_of(const AttentionShape& shape, std::int64_t sample) {
  return shape.lengths != nullptr ? shape.lengths[sample] : shape.before + shape.sequence;
}

/// Keys that a query sees: the first ones.
__device__ inline std::int64_t seen_by(const AttentionShape& shape, std::int64_t keys, std::int64_t query) {
  if (!shape.causal) return keys;
  const std::int64_t up_to = shape.before + query + 1;
  return up_to < keys ? up_to : keys;
}

/// The first query that sees a key.
__device__ inline std::int64_t first_to_see(const AttentionShape& shape, std::int64_t key) {
  if (!shape.causal || key < shape.before) return 0;
  return key - shape.before;
}

}  // namespace plumb::kernels
