#include "trainer/cuda/kernels/embedding.hpp"

#include <cmath>

#include "trainer/cuda/kernels/platform.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kThreads = 256;
constexpr int kIdsPerBlock = 64;

/// sin and cos of position / 10000^(2 i / width) in columns 2 i and 2 i + 1 (Vaswani et al., 2017, 3.5).
__device__ inline float wave(std::int64_t position, std::int64_t column, std::int64_t width) {
  const double rate = pow(10000.0, -static_cast<double>(column / 2 * 2) / static_cast<double>(width));
  const double angle = static_cast<double>(position) * rate;
  return static_cast<float>(column % 2 == 0 ? sin(angle) : cos(angle));
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) gather_rows(EmbeddingForward<T> of, float scale) {
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
  if (at >= of.tokens * of.width) return;
  const std::int64_t token = at / of.width;
  const std::int64_t column = at % of.width;
  const std::int32_t id = of.ids[token];
  if (column == 0) of.kept[token] = id;
  if (of.output == nullptr) return;
  Pack<T, N> row = load<N>(of.table + id * of.width + column);
  const std::int64_t position = of.before + token % of.sequence;
  if (of.positions != nullptr) {
    const Pack<T, N> more = load<N>(of.positions + position * of.width + column);
#pragma unroll
    for (int i = 0; i < N; ++i) row.v[i] = from_float<T>(to_float(row.v[i]) + to_float(more.v[i]));
  }
  if (of.sinusoidal) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      row.v[i] = from_float<T>(to_float(row.v[i]) * scale + wave(position, column + i, of.width));
    }
  }
  store(of.output + at, row);
}

/// Tokens by id, stably; and the ids in that order.
struct Sorted {
  std::int32_t* tokens;
  std::int32_t* ids;
};

/// Counts the ids of this block's range, and those below it. `counts` is in shared memory, zeros.
__device__ inline int count_ids(const std::int32_t* ids, std::int64_t tokens, std::int32_t first, int* counts) {
  __shared__ int below;
  if (threadIdx.x == 0) below = 0;
  __syncthreads();
  int own = 0;
  for (std::int64_t t = threadIdx.x; t < tokens; t += kThreads) {
    const std::int32_t id = ids[t];
    if (id < first) ++own;
    if (id >= first && id < first + kIdsPerBlock) atomicAdd(counts + (id - first), 1);
  }
  atomicAdd(&below, own);
  __syncthreads();
  return below;
}

/// Numbers of this block's threads before this one for which `mine` holds, and of all of them.
struct Rank {
  unsigned int before;
  unsigned int all;
};
__device__ inline Rank rank_in_block(bool mine) {
  __shared__ unsigned int by_warp[kThreads / kWarp];
  const unsigned int votes = __ballot_sync(kAllLanes, mine ? 1 : 0);
  const unsigned int lane = threadIdx.x % kWarp;
  if (lane == 0) by_warp[threadIdx.x / kWarp] = static_cast<unsigned int>(__popc(votes));
  __syncthreads();
  Rank rank{static_cast<unsigned int>(__popc(votes & ((1U << lane) - 1U))), 0};
  for (unsigned int warp = 0; warp < kThreads / kWarp; ++warp) {
    if (warp < threadIdx.x / kWarp) rank.before += by_warp[warp];
    rank.all += by_warp[warp];
  }
  __syncthreads();
  return rank;
}

/// A counting sort; a block per range of ids reads all of them and knows from their number below it where it begins.
__global__ void __launch_bounds__(kThreads) sort_tokens(const std::int32_t* ids, std::int64_t tokens, Sorted sorted) {
  __shared__ int places[kIdsPerBlock];
  __shared__ std::int32_t found[kThreads];
  const auto first = static_cast<std::int32_t>(blockIdx.x) * kIdsPerBlock;
  if (threadIdx.x < kIdsPerBlock) places[threadIdx.x] = 0;
  __syncthreads();
  int next = count_ids(ids, tokens, first, places);
  if (threadIdx.x == 0) {
    for (int& place : places) {
      const int count = place;
      place = next;
      next += count;
    }
  }
  __syncthreads();
  for (std::int64_t begin = 0; begin < tokens; begin += kThreads) {
    const std::int64_t t = begin + threadIdx.x;
    const bool mine = t < tokens && ids[t] >= first && ids[t] < first + kIdsPerBlock;
    const Rank rank = rank_in_block(mine);
    if (mine) found[rank.before] = static_cast<std::int32_t>(t);
    __syncthreads();
    if (threadIdx.x == 0) {
      for (unsigned int i = 0; i < rank.all; ++i) {
        const std::int32_t token = found[i];
        const int place = places[ids[token] - first]++;
        sorted.tokens[place] = token;
        sorted.ids[place] = ids[token];
      }
    }
    __syncthreads();
  }
}

/// A block per sorted place and range of columns; those at the first place of an id add up its rows.
template <class T, int N>
__global__ void __launch_bounds__(kWarp) add_by_id(EmbeddingBackward<T> of, Sorted sorted, float scale) {
  const std::int64_t begin = blockIdx.x;
  const std::int32_t id = sorted.ids[begin];
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.y) * kWarp + threadIdx.x) * N;
  if (column >= of.width || (begin > 0 && sorted.ids[begin - 1] == id)) return;
  float sums[N] = {};
  constexpr int kAhead = 4;
  std::int64_t at = begin;
  for (; at + kAhead <= of.tokens && sorted.ids[at + kAhead - 1] == id; at += kAhead) {
    Pack<T, N> rows[kAhead];
#pragma unroll
    for (int r = 0; r < kAhead; ++r) rows[r] = load<N>(of.output_grad + sorted.tokens[at + r] * of.width + column);
#pragma unroll
    for (int r = 0; r < kAhead; ++r) {
#pragma unroll
      for (int i = 0; i < N; ++i) sums[i] += to_float(rows[r].v[i]);
    }
  }
  for (; at < of.tokens && sorted.ids[at] == id; ++at) {
    const Pack<T, N> row = load<N>(of.output_grad + sorted.tokens[at] * of.width + column);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += to_float(row.v[i]);
  }
  float* to = of.table_grad + id * of.width + column;
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] += sums[i] * scale;
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) add_by_position(EmbeddingBackward<T> of) {
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
  if (at >= of.sequence * of.width) return;
  float sums[N] = {};
  for (std::int64_t row = at; row < of.tokens * of.width; row += of.sequence * of.width) {
    const Pack<T, N> pack = load<N>(of.output_grad + row);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += to_float(pack.v[i]);
  }
  float* to = of.positions_grad + of.before * of.width + at;
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] += sums[i];
}

template <int N>
LaunchShape pack_each(std::int64_t numbers) {
  return {dim3(static_cast<unsigned int>(ceil_div(numbers, kThreads * N))), dim3(kThreads)};
}

float row_scale(bool sinusoidal, std::int64_t width) {
  return sinusoidal ? std::sqrt(static_cast<float>(width)) : 1.0F;
}

template <class T, int N>
void backward_in(const EmbeddingBackward<T>& of, const Sorted& sorted, Stream stream) {
  const dim3 grid(static_cast<unsigned int>(of.tokens), static_cast<unsigned int>(ceil_div(of.width, kWarp * N)));
  launch(add_by_id<T, N>, {grid, dim3(kWarp)}, stream, of, sorted, row_scale(of.sinusoidal, of.width));
  if (of.positions_grad != nullptr) {
    launch(add_by_position<T, N>, pack_each<N>(of.sequence * of.width), stream, of);
  }
}

}  // namespace

std::int64_t embedding_scratch_bytes(std::int64_t tokens) {
  return 2 * tokens * static_cast<std::int64_t>(sizeof(std::int32_t));
}

template <class T>
void embedding_forward(const EmbeddingForward<T>& embedding, Stream stream) {
  const float scale = row_scale(embedding.sinusoidal, embedding.width);
  const std::int64_t numbers = embedding.tokens * embedding.width;
  if (in_packs<T>(embedding.width, embedding.table, embedding.positions, embedding.output)) {
    launch(gather_rows<T, kVector<T>>, pack_each<kVector<T>>(numbers), stream, embedding, scale);
  } else {
    launch(gather_rows<T, 1>, pack_each<1>(numbers), stream, embedding, scale);
  }
}

template <class T>
void embedding_backward(const EmbeddingBackward<T>& embedding, Stream stream) {
  auto* tokens = reinterpret_cast<std::int32_t*>(embedding.scratch);
  const Sorted sorted{tokens, tokens + embedding.tokens};
  const auto ranges = static_cast<unsigned int>(ceil_div(embedding.vocabulary, kIdsPerBlock));
  launch(sort_tokens, {dim3(ranges), dim3(kThreads)}, stream, embedding.ids, embedding.tokens, sorted);
  if (in_packs<T>(embedding.width, embedding.output_grad)) {
    backward_in<T, kVector<T>>(embedding, sorted, stream);
  } else {
    backward_in<T, 1>(embedding, sorted, stream);
  }
}

template void embedding_forward(const EmbeddingForward<float>&, Stream);
template void embedding_forward(const EmbeddingForward<BFloat16>&, Stream);
template void embedding_backward(const EmbeddingBackward<float>&, Stream);
template void embedding_backward(const EmbeddingBackward<BFloat16>&, Stream);

}  // namespace plumb::kernels
