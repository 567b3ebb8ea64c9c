#include <string>

#include "models/ground/error.hpp"
#include "trainer/cuda/kernels/attention/attention_deltas.cuh"
#include "trainer/cuda/kernels/attention/attention_tiles.cuh"

// The gradients of the queries are made by blocks of queries that go over the keys, those of keys and values by blocks
// of keys that go over the queries: the scores are computed twice, but nobody adds to what another one writes, so the
// order of every sum is fixed.

namespace plumb::kernels {

namespace {

struct BackwardTiles {
  AttentionBackward<BFloat16> attention;
  float scale;  ///< factor of the scores
  bool aligned;

  __device__ TileSource queries(const HeadRows<const BFloat16>& all, const HeadPlace& place) const {
    const AttentionShape& shape = attention.shape;
    return {place.of_queries(all, shape), all.stride, shape.sequence, shape.head_width, aligned};
  }
  __device__ TileSource keys(const HeadRows<const BFloat16>& all, const HeadPlace& place, std::int64_t count) const {
    return {place.of_keys(all, attention.shape), all.stride, count, attention.shape.head_width, aligned};
  }
};

/// Rows that pass by at a time: wide heads leave fewer registers.
template <int kWidth>
inline constexpr int kPassing = kWidth > 64 ? 32 : 64;

/// What is known of a lane's two rows of queries. Scores are taken to base 2.
struct QueryStatistics {
  float log_sums[2];
  float deltas[2];
  float scale;  ///< factor of the scores
};

__device__ inline QueryStatistics statistics_of(const BackwardTiles& of, const HeadPlace& place, std::int64_t query) {
  const AttentionShape& shape = of.attention.shape;
  QueryStatistics rows{{}, {}, of.scale * kLog2E};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = query + half * 8 < shape.sequence ? query + half * 8 : shape.sequence - 1;
    rows.log_sums[half] = of.attention.log_sums[place.statistic(shape, row)] * kLog2E;
    rows.deltas[half] = of.attention.deltas[place.statistic(shape, row)];
  }
  return rows;
}

/// dS (without its scale) of 16 queries and a tile of keys, in place of the scores. Of a tile that is not `whole` the
/// rows see the first `seen` keys.
template <bool kWhole, int kRows>
__device__ inline void score_gradients(float (&scores)[kRows / 8][4], const float (&gradients)[kRows / 8][4],
                                       const QueryStatistics& rows, const int (&seen)[2]) {
#pragma unroll
  for (int n = 0; n < kRows / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool visible = kWhole || n * 8 + accumulator_column() + i % 2 < seen[i / 2];
      const float p = visible ? fast_exp2(scores[n][i] * rows.scale - rows.log_sums[i / 2]) : 0.0F;
      scores[n][i] = p * (gradients[n][i] - rows.deltas[i / 2]);
    }
  }
}

/// How many of a tile's rows are seen, for comparisons in 32 bits.
template <int kRows>
__device__ inline int in_tile(std::int64_t seen) {
  if (seen < 0) return 0;
  return seen < kRows ? static_cast<int>(seen) : kRows;
}

template <int kWidth>
__global__ void __launch_bounds__(kAttentionThreads) query_tiles(BackwardTiles of) {
  constexpr int kKeys = kPassing<kWidth>;
  constexpr int kOwn = kTileRows * kTileStride<kWidth>;
  constexpr int kTile = kKeys * kTileStride<kWidth>;
  const AttentionShape& shape = of.attention.shape;
  const HeadPlace place = head_of_block(shape);
  const std::int64_t first = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kTileRows;
  const std::int64_t keys = keys_of(shape, place.sample);
  const std::int64_t last = (first + kTileRows < shape.sequence ? first + kTileRows : shape.sequence) - 1;
  const std::int64_t tiles = (seen_by(shape, keys, last) + kKeys - 1) / kKeys;
  const TileSource from_keys = of.keys(of.attention.keys, place, keys);
  const TileSource from_values = of.keys(of.attention.values, place, keys);
  auto* query_tile = dynamic_shared<BFloat16>();
  BFloat16* grad_tile = query_tile + kOwn;
  BFloat16* key_tiles = grad_tile + kOwn;
  BFloat16* value_tiles = key_tiles + 2 * kTile;
  fetch_tile<kWidth, kTileRows>(query_tile, of.queries(of.attention.queries, place), first);
  fetch_tile<kWidth, kTileRows>(grad_tile, of.queries(of.attention.attended_grad, place), first);
  fetch_tile<kWidth, kKeys>(key_tiles, from_keys, 0);
  fetch_tile<kWidth, kKeys>(value_tiles, from_values, 0);
  commit_copies();
  const std::int64_t query = first + first_row_of_warp() + accumulator_row();
  const QueryStatistics rows = statistics_of(of, place, query);
  float result[kWidth / 8][4] = {};
  OwnRows<kWidth> queries;
  OwnRows<kWidth> grads;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const int now = static_cast<int>(tile % 2) * kTile;
    if (tile + 1 < tiles) {
      fetch_tile<kWidth, kKeys>(key_tiles + kTile - now, from_keys, (tile + 1) * kKeys);
      fetch_tile<kWidth, kKeys>(value_tiles + kTile - now, from_values, (tile + 1) * kKeys);
    }
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    if (tile == 0) {
      queries.take(query_tile + first_row_of_warp() * kTileStride<kWidth>);
      grads.take(grad_tile + first_row_of_warp() * kTileStride<kWidth>);
    }
    float scores[kKeys / 8][4] = {};
    float gradients[kKeys / 8][4] = {};
    rows_by_rows<kWidth, kKeys>(scores, queries, key_tiles + now);
    rows_by_rows<kWidth, kKeys>(gradients, grads, value_tiles + now);
    const int seen[2] = {in_tile<kKeys>(seen_by(shape, keys, query) - tile * kKeys),
                         in_tile<kKeys>(seen_by(shape, keys, query + 8) - tile * kKeys)};
    if ((tile + 1) * kKeys <= seen_by(shape, keys, first + first_row_of_warp())) {
      score_gradients<true, kKeys>(scores, gradients, rows, seen);
    } else {
      score_gradients<false, kKeys>(scores, gradients, rows, seen);
    }
    registers_by_rows<kWidth, kKeys>(result, scores, key_tiles + now);
    __syncthreads();
  }
  const TileSource to{nullptr, of.attention.query_grad.stride, shape.sequence, shape.head_width, of.aligned};
  store_rows<kWidth>(result, {of.scale, of.scale}, place.of_queries(of.attention.query_grad, shape), to,
                     first + first_row_of_warp());
}

/// What a block of keys goes over: the tiles of queries that see one of its keys, head after head of the group.
struct QueryTiles {
  std::int64_t first = 0;  ///< query of the first tile
  std::int64_t count = 0;  ///< number of tiles per head

  __device__ QueryTiles(const AttentionShape& shape, std::int64_t first_key, int rows) {
    first = first_to_see(shape, first_key) / rows * rows;
    count = first < shape.sequence ? (shape.sequence - first + rows - 1) / rows : 0;
  }
};

/// Log-sums (base 2) and deltas of a tile of queries, to shared memory.
template <int kQueries>
__device__ inline void fetch_statistics(float* to, const BackwardTiles& of, const HeadPlace& place,
                                        std::int64_t first) {
  const AttentionShape& shape = of.attention.shape;
  for (int i = static_cast<int>(threadIdx.x); i < kQueries; i += static_cast<int>(kAttentionThreads)) {
    const bool valid = first + i < shape.sequence;
    to[i] = valid ? of.attention.log_sums[place.statistic(shape, first + i)] * kLog2E : 0.0F;
    to[kQueries + i] = valid ? of.attention.deltas[place.statistic(shape, first + i)] : 0.0F;
  }
}

/// What a warp's 16 keys and a tile of queries see of each other.
struct KeyView {
  std::int64_t key;    ///< the warp's first one
  std::int64_t query;  ///< query of the tile's first column
  std::int64_t keys;   ///< keys of the sample
};

/// Probabilities of 16 keys and a tile of queries, in place of the scores, and dS (without its scale) in place of dP.
template <bool kWhole, int kQueries>
__device__ inline void key_score_gradients(float (&scores)[kQueries / 8][4], float (&gradients)[kQueries / 8][4],
                                           const float* statistics, const BackwardTiles& of, const KeyView& view) {
  const AttentionShape& shape = of.attention.shape;
  const float scale = of.scale * kLog2E;
#pragma unroll
  for (int n = 0; n < kQueries / 8; ++n) {
    const int column = n * 8 + accumulator_column();
    const Pack<float, 2> log_sums = load<2>(statistics + column);
    const Pack<float, 2> deltas = load<2>(statistics + kQueries + column);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      bool visible = true;
      if constexpr (!kWhole) {
        const std::int64_t at = view.query + column + i % 2;
        visible = at < shape.sequence && view.key + accumulator_row() + i / 2 * 8 < seen_by(shape, view.keys, at);
      }
      scores[n][i] = visible ? fast_exp2(scores[n][i] * scale - log_sums.v[i % 2]) : 0.0F;
      gradients[n][i] = scores[n][i] * (gradients[n][i] - deltas.v[i % 2]);
    }
  }
}

template <int kQueries>
__device__ inline void any_key_score_gradients(float (&scores)[kQueries / 8][4], float (&gradients)[kQueries / 8][4],
                                               const float* statistics, const BackwardTiles& of, const KeyView& view) {
  const AttentionShape& shape = of.attention.shape;
  if (view.query + kQueries <= shape.sequence && view.key + 15 < seen_by(shape, view.keys, view.query)) {
    key_score_gradients<true, kQueries>(scores, gradients, statistics, of, view);
  } else {
    key_score_gradients<false, kQueries>(scores, gradients, statistics, of, view);
  }
}

template <int kWidth>
__global__ void __launch_bounds__(kAttentionThreads) key_tiles(BackwardTiles of) {
  constexpr int kQueries = kPassing<kWidth>;
  constexpr int kOwn = kTileRows * kTileStride<kWidth>;
  constexpr int kTile = kQueries * kTileStride<kWidth>;
  const AttentionShape& shape = of.attention.shape;
  HeadPlace place{blockIdx.z, 0, blockIdx.y};
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTileRows;
  const std::int64_t keys = keys_of(shape, place.sample);
  const QueryTiles tiles(shape, first, kQueries);
  auto* key_tile = dynamic_shared<BFloat16>();
  BFloat16* value_tile = key_tile + kOwn;
  BFloat16* query_tiles = value_tile + kOwn;
  BFloat16* grad_tiles = query_tiles + 2 * kTile;
  auto* statistics = reinterpret_cast<float*>(grad_tiles + 2 * kTile);  // two times two rows of kQueries
  const auto fetch = [&](std::int64_t tile) {
    const int half = static_cast<int>(tile % 2);
    place.head = static_cast<std::int64_t>(blockIdx.y) * shape.group + tile / tiles.count;
    const std::int64_t query = tiles.first + tile % tiles.count * kQueries;
    fetch_tile<kWidth, kQueries>(query_tiles + half * kTile, of.queries(of.attention.queries, place), query);
    fetch_tile<kWidth, kQueries>(grad_tiles + half * kTile, of.queries(of.attention.attended_grad, place), query);
    fetch_statistics<kQueries>(statistics + half * 2 * kQueries, of, place, query);
  };
  fetch_tile<kWidth, kTileRows>(key_tile, of.keys(of.attention.keys, place, keys), first);
  fetch_tile<kWidth, kTileRows>(value_tile, of.keys(of.attention.values, place, keys), first);
  const std::int64_t all = tiles.count * shape.group;
  if (all > 0) fetch(0);
  commit_copies();
  float key_grad[kWidth / 8][4] = {};
  float value_grad[kWidth / 8][4] = {};
  OwnRows<kWidth> own_keys;
  OwnRows<kWidth> own_values;
  for (std::int64_t tile = 0; tile < all; ++tile) {
    const int half = static_cast<int>(tile % 2);
    if (tile + 1 < all) fetch(tile + 1);
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    if (tile == 0) {
      own_keys.take(key_tile + first_row_of_warp() * kTileStride<kWidth>);
      own_values.take(value_tile + first_row_of_warp() * kTileStride<kWidth>);
    }
    float scores[kQueries / 8][4] = {};
    float gradients[kQueries / 8][4] = {};
    rows_by_rows<kWidth, kQueries>(scores, own_keys, query_tiles + half * kTile);
    rows_by_rows<kWidth, kQueries>(gradients, own_values, grad_tiles + half * kTile);
    const std::int64_t query = tiles.first + tile % tiles.count * kQueries;
    any_key_score_gradients<kQueries>(scores, gradients, statistics + half * 2 * kQueries, of,
                                      {first + first_row_of_warp(), query, keys});
    registers_by_rows<kWidth, kQueries>(value_grad, scores, grad_tiles + half * kTile);
    registers_by_rows<kWidth, kQueries>(key_grad, gradients, query_tiles + half * kTile);
    __syncthreads();
  }
  const auto write = [&](const HeadRows<BFloat16>& to, const float(&grad)[kWidth / 8][4], float factor) {
    const TileSource rows{nullptr, to.stride, shape.before + shape.sequence, shape.head_width, of.aligned};
    store_rows<kWidth>(grad, {factor, factor}, place.of_keys(to, shape), rows, first + first_row_of_warp());
  };
  write(of.attention.key_grad, key_grad, of.scale);
  write(of.attention.value_grad, value_grad, 1.0F);
}

template <int kWidth>
void run_backward(const BackwardTiles& of, Stream stream) {
  const AttentionShape& shape = of.attention.shape;
  const auto samples = static_cast<unsigned int>(shape.samples);
  const std::size_t tiles = sizeof(BFloat16) * (2 * kTileRows + 4 * kPassing<kWidth>)*kTileStride<kWidth>;
  const dim3 by_queries(static_cast<unsigned int>(ceil_div(shape.sequence, kTileRows)),
                        static_cast<unsigned int>(shape.heads), samples);
  launch(query_tiles<kWidth>, {by_queries, dim3(kAttentionThreads), tiles}, stream, of);
  const dim3 by_keys(static_cast<unsigned int>(ceil_div(shape.keys(), kTileRows)),
                     static_cast<unsigned int>(shape.heads / shape.group), samples);
  const std::size_t statistics = sizeof(float) * 4 * kPassing<kWidth>;
  launch(key_tiles<kWidth>, {by_keys, dim3(kAttentionThreads), tiles + statistics}, stream, of);
}

}  // namespace

template <>
void attention_backward(const AttentionBackward<BFloat16>& attention, Stream stream) {
  const AttentionShape& shape = attention.shape;
  attention_deltas(attention, stream);
  const bool aligned =
      heads_aligned(shape, attention.queries, attention.keys, attention.values, attention.attended_grad,
                    attention.query_grad, attention.key_grad, attention.value_grad);
  const BackwardTiles of{attention, 1.0F / std::sqrt(static_cast<float>(shape.head_width)), aligned};
  if (shape.head_width <= 32) return run_backward<32>(of, stream);
  if (shape.head_width <= 64) return run_backward<64>(of, stream);
  if (shape.head_width <= 128) return run_backward<128>(of, stream);
  throw Error("attention in bf16: " + std::to_string(shape.head_width) + " numbers per head, expected at most 128");
}

}  // namespace plumb::kernels
