#include <string>

#include "models/ground/error.hpp"
#include "trainer/cuda/kernels/attention/attention_deltas.cuh"

// Attention in float, a warp per query or key: what the bf16 kernels are compared with, and the mode for tests. Lanes
// stand side by side along the keys for scores, and along the numbers of a head for results.

namespace plumb::kernels {

namespace {

constexpr unsigned int kWarps = 4;
constexpr int kMostWidth = 256;
constexpr int kPerLane = kMostWidth / 32;

__device__ inline float dot(const float* a, const float* b, std::int64_t width) {
  float sum = 0;
  for (std::int64_t j = 0; j < width; ++j) sum += a[j] * b[j];
  return sum;
}

/// Numbers lane, lane + 32 ... of a head: to += factor row.
__device__ inline void add_row(float (&to)[kPerLane], const float* row, std::int64_t width, float factor) {
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const std::int64_t j = threadIdx.x % kWarp + static_cast<unsigned int>(i) * kWarp;
    if (j < width) to[i] += factor * row[j];
  }
}
__device__ inline void write_row(const float (&from)[kPerLane], float* row, std::int64_t width, float factor) {
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const std::int64_t j = threadIdx.x % kWarp + static_cast<unsigned int>(i) * kWarp;
    if (j < width) row[j] = from[i] * factor;
  }
}

__global__ void __launch_bounds__(kWarps* kWarp) forward_rows(AttentionForward<float> attention, float scale) {
  const AttentionShape& shape = attention.shape;
  const HeadPlace place = head_of_block(shape);
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (query >= shape.sequence) return;
  const std::int64_t seen = seen_by(shape, keys_of(shape, place.sample), query);
  const float* q = place.of_queries(attention.queries, shape) + query * attention.queries.stride;
  const float* keys = place.of_keys(attention.keys, shape);
  const float* values = place.of_keys(attention.values, shape);
  float largest = -INFINITY;
  float sum = 0;
  float result[kPerLane] = {};
  for (std::int64_t first = 0; first < seen; first += kWarp) {
    const std::int64_t key = first + threadIdx.x % kWarp;
    const bool valid = key < seen;
    const float score = valid ? scale * dot(q, keys + key * attention.keys.stride, shape.head_width) : -INFINITY;
    const float now = fmaxf(largest, warp_max(score));
    const float shrink = expf(largest - now);
    const float p = valid ? expf(score - now) : 0.0F;
    largest = now;
    sum = sum * shrink + warp_sum(p);
    for (float& number : result) number *= shrink;
    for (int other = 0; other < static_cast<int>(kWarp) && first + other < seen; ++other) {
      const float weight = __shfl_sync(kAllLanes, p, other);
      add_row(result, values + (first + other) * attention.values.stride, shape.head_width, weight);
    }
  }
  if (threadIdx.x % kWarp == 0) attention.log_sums[place.statistic(shape, query)] = largest + logf(sum);
  if (attention.attended.rows == nullptr) return;
  float* to = place.of_queries(attention.attended, shape) + query * attention.attended.stride;
  write_row(result, to, shape.head_width, 1.0F / sum);
}

/// Probability of a key for a query, and dS without its scale.
struct ScoreGradient {
  float p;
  float ds;
};
__device__ inline ScoreGradient score_gradient(const AttentionBackward<float>& attention, const HeadPlace& place,
                                               std::int64_t query, std::int64_t key, float scale) {
  const AttentionShape& shape = attention.shape;
  const float* q = place.of_queries(attention.queries, shape) + query * attention.queries.stride;
  const float* gradient = place.of_queries(attention.attended_grad, shape) + query * attention.attended_grad.stride;
  const float* k = place.of_keys(attention.keys, shape) + key * attention.keys.stride;
  const float* v = place.of_keys(attention.values, shape) + key * attention.values.stride;
  const std::int64_t at = place.statistic(shape, query);
  const float p = expf(scale * dot(q, k, shape.head_width) - attention.log_sums[at]);
  return {p, p * (dot(gradient, v, shape.head_width) - attention.deltas[at])};
}

__global__ void __launch_bounds__(kWarps* kWarp) query_rows(AttentionBackward<float> attention, float scale) {
  const AttentionShape& shape = attention.shape;
  const HeadPlace place = head_of_block(shape);
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (query >= shape.sequence) return;
  const std::int64_t seen = seen_by(shape, keys_of(shape, place.sample), query);
  const float* keys = place.of_keys(attention.keys, shape);
  float result[kPerLane] = {};
  for (std::int64_t first = 0; first < seen; first += kWarp) {
    const std::int64_t key = first + threadIdx.x % kWarp;
    const float ds = key < seen ? score_gradient(attention, place, query, key, scale).ds : 0.0F;
    for (int other = 0; other < static_cast<int>(kWarp) && first + other < seen; ++other) {
      const float weight = __shfl_sync(kAllLanes, ds, other);
      add_row(result, keys + (first + other) * attention.keys.stride, shape.head_width, weight);
    }
  }
  float* to = place.of_queries(attention.query_grad, shape) + query * attention.query_grad.stride;
  write_row(result, to, shape.head_width, scale);
}

__global__ void __launch_bounds__(kWarps* kWarp) key_rows(AttentionBackward<float> attention, float scale) {
  const AttentionShape& shape = attention.shape;
  HeadPlace place{blockIdx.z, 0, blockIdx.y};
  const std::int64_t key = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (key >= shape.before + shape.sequence) return;
  const std::int64_t keys = keys_of(shape, place.sample);
  float key_grad[kPerLane] = {};
  float value_grad[kPerLane] = {};
  const std::int64_t first_query = key < keys ? first_to_see(shape, key) : shape.sequence;
  for (std::int64_t member = 0; member < shape.group; ++member) {
    place.head = place.kv_head * shape.group + member;
    const float* queries = place.of_queries(attention.queries, shape);
    const float* gradients = place.of_queries(attention.attended_grad, shape);
    for (std::int64_t first = first_query; first < shape.sequence; first += kWarp) {
      const std::int64_t query = first + threadIdx.x % kWarp;
      const ScoreGradient of =
          query < shape.sequence ? score_gradient(attention, place, query, key, scale) : ScoreGradient{0.0F, 0.0F};
      for (int other = 0; other < static_cast<int>(kWarp) && first + other < shape.sequence; ++other) {
        const float p = __shfl_sync(kAllLanes, of.p, other);
        const float ds = __shfl_sync(kAllLanes, of.ds, other);
        add_row(value_grad, gradients + (first + other) * attention.attended_grad.stride, shape.head_width, p);
        add_row(key_grad, queries + (first + other) * attention.queries.stride, shape.head_width, ds);
      }
    }
  }
  write_row(key_grad, place.of_keys(attention.key_grad, shape) + key * attention.key_grad.stride, shape.head_width,
            scale);
  write_row(value_grad, place.of_keys(attention.value_grad, shape) + key * attention.value_grad.stride,
            shape.head_width, 1.0F);
}

LaunchShape warp_per_row(std::int64_t rows, std::int64_t heads, std::int64_t samples) {
  return {dim3(static_cast<unsigned int>(ceil_div(rows, kWarps)), static_cast<unsigned int>(heads),
               static_cast<unsigned int>(samples)),
          dim3(kWarps * kWarp)};
}

void check(const AttentionShape& shape) {
  if (shape.head_width <= kMostWidth) return;
  throw Error("attention in float: " + std::to_string(shape.head_width) + " numbers per head, expected at most " +
              std::to_string(kMostWidth));
}

}  // namespace

template <>
void attention_forward(const AttentionForward<float>& attention, Stream stream) {
  const AttentionShape& shape = attention.shape;
  check(shape);
  const float scale = 1.0F / std::sqrt(static_cast<float>(shape.head_width));
  launch(forward_rows, warp_per_row(shape.sequence, shape.heads, shape.samples), stream, attention, scale);
}

template <>
void attention_backward(const AttentionBackward<float>& attention, Stream stream) {
  const AttentionShape& shape = attention.shape;
  check(shape);
  const float scale = 1.0F / std::sqrt(static_cast<float>(shape.head_width));
  attention_deltas(attention, stream);
  launch(query_rows, warp_per_row(shape.sequence, shape.heads, shape.samples), stream, attention, scale);
  launch(key_rows, warp_per_row(shape.keys(), shape.heads / shape.group, shape.samples), stream, attention, scale);
}

}  // namespace plumb::kernels
