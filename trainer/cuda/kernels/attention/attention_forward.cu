#include <string>

#include "models/ground/error.hpp"
#include "trainer/cuda/kernels/attention/attention_tiles.cuh"

namespace plumb::kernels {

namespace {

constexpr int kKeys = 64;  ///< keys of a tile that passes by

/// The rows of one warp: running maxima of the scaled scores (base 2), sums and results so far.
template <int kWidth>
struct RunningRows {
  float largest[2] = {-INFINITY, -INFINITY};
  float sum[2] = {};
  float result[kWidth / 8][4] = {};
};

/// Hides what a row does not see. `seen` by half of the rows, counted from the first key of the tile.
__device__ inline void mask(float (&scores)[kKeys / 8][4], const std::int64_t (&seen)[2]) {
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (n * 8 + accumulator_column() + i % 2 >= seen[i / 2]) scores[n][i] = -INFINITY;
    }
  }
}

/// Scores become exponentials, and what is there already is brought down to the new maximum (Milakov and Gimelshein,
/// 2018; FlashAttention). The four lanes of a row work together.
template <int kWidth>
__device__ inline void soften(float (&scores)[kKeys / 8][4], RunningRows<kWidth>& rows, float scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = -INFINITY;
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
      largest = fmaxf(largest, fmaxf(scores[n][half * 2], scores[n][half * 2 + 1]));
    }
    largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 2));
    const float now = fmaxf(rows.largest[half], largest * scale);
    const float shrink = fast_exp2(rows.largest[half] - now);
    rows.largest[half] = now;
    rows.sum[half] *= shrink;
#pragma unroll
    for (int n = 0; n < kWidth / 8; ++n) {
      rows.result[n][half * 2] *= shrink;
      rows.result[n][half * 2 + 1] *= shrink;
    }
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int i = half * 2; i < half * 2 + 2; ++i) {
        scores[n][i] = fast_exp2(scores[n][i] * scale - now);
        rows.sum[half] += scores[n][i];
      }
    }
  }
}

struct ForwardTiles {
  AttentionForward<BFloat16> attention;
  float scale;  ///< factor of the scores, for base 2
  bool aligned;
};

template <int kWidth>
__device__ inline void finish_rows(const ForwardTiles& of, const HeadPlace& place, RunningRows<kWidth>& rows,
                                   std::int64_t first_query) {
  const AttentionShape& shape = of.attention.shape;
  float factors[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = rows.sum[half];
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    sum += __shfl_xor_sync(kAllLanes, sum, 2);
    factors[half] = 1.0F / sum;
    const std::int64_t query = first_query + accumulator_row() + half * 8;
    if (threadIdx.x % 4 == 0 && query < shape.sequence) {
      of.attention.log_sums[place.statistic(shape, query)] = rows.largest[half] * kLn2 + logf(sum);
    }
  }
  const HeadRows<BFloat16>& attended = of.attention.attended;
  if (attended.rows == nullptr) return;
  const TileSource to{nullptr, attended.stride, shape.sequence, shape.head_width, of.aligned};
  store_rows<kWidth>(rows.result, factors, place.of_queries(attended, shape), to, first_query);
}

template <int kWidth>
__global__ void __launch_bounds__(kAttentionThreads) forward_tiles(ForwardTiles of) {
  constexpr int kTile = kTileRows * kTileStride<kWidth>;
  const AttentionShape& shape = of.attention.shape;
  const HeadPlace place = head_of_block(shape);
  // The last queries see the most keys: they begin first.
  const std::int64_t first = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kTileRows;
  const std::int64_t keys = keys_of(shape, place.sample);
  const std::int64_t last = (first + kTileRows < shape.sequence ? first + kTileRows : shape.sequence) - 1;
  const std::int64_t tiles = (seen_by(shape, keys, last) + kKeys - 1) / kKeys;
  const auto& [unused, queries, key_rows, value_rows, attended, log_sums] = of.attention;
  const TileSource from_keys{place.of_keys(key_rows, shape), key_rows.stride, keys, shape.head_width, of.aligned};
  const TileSource from_values{place.of_keys(value_rows, shape), value_rows.stride, keys, shape.head_width, of.aligned};
  auto* query_tile = dynamic_shared<BFloat16>();
  BFloat16* key_tiles = query_tile + kTile;
  BFloat16* value_tiles = key_tiles + 2 * kTile;
  fetch_tile<kWidth, kTileRows>(
      query_tile, {place.of_queries(queries, shape), queries.stride, shape.sequence, shape.head_width, of.aligned},
      first);
  fetch_tile<kWidth, kKeys>(key_tiles, from_keys, 0);
  fetch_tile<kWidth, kKeys>(value_tiles, from_values, 0);
  commit_copies();
  RunningRows<kWidth> rows;
  OwnRows<kWidth> own;
  const std::int64_t first_query = first + first_row_of_warp();
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const int now = static_cast<int>(tile % 2) * kTile;
    const int next = kTile - now;
    if (tile + 1 < tiles) {
      fetch_tile<kWidth, kKeys>(key_tiles + next, from_keys, (tile + 1) * kKeys);
      fetch_tile<kWidth, kKeys>(value_tiles + next, from_values, (tile + 1) * kKeys);
    }
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    if (tile == 0) own.take(query_tile + first_row_of_warp() * kTileStride<kWidth>);
    float scores[kKeys / 8][4] = {};
    rows_by_rows<kWidth, kKeys>(scores, own, key_tiles + now);
    if ((tile + 1) * kKeys > seen_by(shape, keys, first_query)) {
      const std::int64_t query = first_query + accumulator_row();
      mask(scores, {seen_by(shape, keys, query) - tile * kKeys, seen_by(shape, keys, query + 8) - tile * kKeys});
    }
    soften<kWidth>(scores, rows, of.scale);
    registers_by_rows<kWidth, kKeys>(rows.result, scores, value_tiles + now);
    __syncthreads();
  }
  finish_rows<kWidth>(of, place, rows, first_query);
}

template <int kWidth>
void run_forward(const ForwardTiles& of, Stream stream) {
  const AttentionShape& shape = of.attention.shape;
  const dim3 grid(static_cast<unsigned int>(ceil_div(shape.sequence, kTileRows)),
                  static_cast<unsigned int>(shape.heads), static_cast<unsigned int>(shape.samples));
  const std::size_t bytes = sizeof(BFloat16) * 5 * kTileRows * kTileStride<kWidth>;
  launch(forward_tiles<kWidth>, {grid, dim3(kAttentionThreads), bytes}, stream, of);
}

}  // namespace

template <>
void attention_forward(const AttentionForward<BFloat16>& attention, Stream stream) {
  const AttentionShape& shape = attention.shape;
  const float scale = kLog2E / std::sqrt(static_cast<float>(shape.head_width));
  const ForwardTiles of{attention, scale,
                        heads_aligned(shape, attention.queries, attention.keys, attention.values, attention.attended)};
  if (shape.head_width <= 32) return run_forward<32>(of, stream);
  if (shape.head_width <= 64) return run_forward<64>(of, stream);
  if (shape.head_width <= 128) return run_forward<128>(of, stream);
  throw Error("attention in bf16: " + std::to_string(shape.head_width) + " numbers per head, expected at most 128");
}

}  // namespace plumb::kernels
