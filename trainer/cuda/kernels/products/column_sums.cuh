#pragma once

#include "trainer/cuda/kernels/platform.cuh"
#include "trainer/cuda/kernels/products/column_sums.hpp"

namespace plumb::kernels {

// Two levels: a block adds up a chunk of rows for some columns, then one thread per column and slice of the chunks adds
// those, always in the same order.

inline constexpr unsigned int kColumnLanes = 32;  ///< threads side by side
inline constexpr unsigned int kColumnRows = 8;    ///< rows at a time

inline std::int64_t rows_per_chunk(std::int64_t rows) {
  constexpr std::int64_t kFewest = 32;
  constexpr std::int64_t kMostChunks = 128;
  const std::int64_t rows_each = ceil_div(rows, kMostChunks);
  return rows_each > kFewest ? rows_each : kFewest;
}

/// `terms(row, column, out)` gives kSums x N numbers: those of N columns from `column` on.
template <int kSums, int N, class Terms>
__global__ void __launch_bounds__(kColumnLanes* kColumnRows)
    column_chunks(Terms terms, std::int64_t rows, std::int64_t width, std::int64_t chunk, float* partial) {
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * kColumnLanes + threadIdx.x) * N;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * chunk;
  const std::int64_t end = first + chunk < rows ? first + chunk : rows;
  float sums[kSums][N] = {};
  if (column < width) {
#pragma unroll 2
    for (std::int64_t row = first + threadIdx.y; row < end; row += kColumnRows) {
      float out[kSums][N];
      terms(row, column, out);
#pragma unroll
      for (int s = 0; s < kSums; ++s) {
#pragma unroll
        for (int i = 0; i < N; ++i) sums[s][i] += out[s][i];
      }
    }
  }
  float* all = dynamic_shared<float>();  // by row of threads, sum and column
  constexpr unsigned int kNumbers = kSums * N;
  constexpr unsigned int kRow = kColumnLanes * kNumbers;
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
#pragma unroll
    for (int i = 0; i < N; ++i)
      all[threadIdx.y * kRow + (static_cast<unsigned int>(s) * kColumnLanes + threadIdx.x) * N +
          static_cast<unsigned int>(i)] = sums[s][i];
  }
  __syncthreads();
  const unsigned int thread = threadIdx.y * kColumnLanes + threadIdx.x;
  for (unsigned int at = thread; at < kRow; at += kColumnLanes * kColumnRows) {
    const std::int64_t to = static_cast<std::int64_t>(blockIdx.x) * kColumnLanes * N + at % (kColumnLanes * N);
    if (to >= width) continue;
    float total = 0;
    for (unsigned int y = 0; y < kColumnRows; ++y) total += all[y * kRow + at];
    partial[(static_cast<std::int64_t>(blockIdx.y) * kSums + at / (kColumnLanes * N)) * width + to] = total;
  }
}

/// Hands the kSums complete sums of every column to `finish(column, sums)`.
template <int kSums, class Finish>
__global__ void __launch_bounds__(kColumnLanes* kColumnRows)
    column_totals(Finish finish, const float* partial, std::int64_t chunks, std::int64_t width) {
  __shared__ float all[kColumnRows][kSums][kColumnLanes];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kColumnLanes + threadIdx.x;
  float sums[kSums] = {};
  if (column < width) {
    for (std::int64_t chunk = threadIdx.y; chunk < chunks; chunk += kColumnRows) {
#pragma unroll
      for (int s = 0; s < kSums; ++s) sums[s] += partial[(chunk * kSums + s) * width + column];
    }
  }
#pragma unroll
  for (int s = 0; s < kSums; ++s) all[threadIdx.y][s][threadIdx.x] = sums[s];
  __syncthreads();
  if (threadIdx.y != 0 || column >= width) return;
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
    sums[s] = 0;
    for (unsigned int y = 0; y < kColumnRows; ++y) sums[s] += all[y][s][threadIdx.x];
  }
  finish(column, sums);
}

/// `Terms` for packs of N columns, where `packs`, and for single ones.
template <int kSums, int N, class Terms, class Finish>
void sum_columns_in(const Terms& terms, const Finish& finish, const ColumnSums<float>& shape, Stream stream) {
  const std::int64_t chunk = rows_per_chunk(shape.rows);
  const auto chunks = static_cast<unsigned int>(ceil_div(shape.rows, chunk));
  auto* partial = reinterpret_cast<float*>(shape.scratch);
  const dim3 block(kColumnLanes, kColumnRows);
  const LaunchShape first{dim3(static_cast<unsigned int>(ceil_div(shape.width, kColumnLanes * N)), chunks), block,
                          sizeof(float) * kColumnRows * kColumnLanes * kSums * N};
  launch(column_chunks<kSums, N, Terms>, first, stream, terms, shape.rows, shape.width, chunk, partial);
  const LaunchShape second{dim3(static_cast<unsigned int>(ceil_div(shape.width, kColumnLanes))), block, 0};
  launch(column_totals<kSums, Finish>, second, stream, finish, static_cast<const float*>(partial),
         static_cast<std::int64_t>(chunks), shape.width);
}

/// What a column sum becomes: added to a gradient.
struct AddToGradients {
  float* gradients[2];

  template <int kSums>
  __device__ void operator()(std::int64_t column, const float (&sums)[kSums]) const {
    for (int s = 0; s < kSums; ++s) {
      if (gradients[s] != nullptr) gradients[s][column] += sums[s];
    }
  }
};

}  // namespace plumb::kernels
