#pragma once

#include "trainer/cuda/kernels/attention/attention_places.cuh"
#include "trainer/cuda/kernels/products/matrix_units.cuh"

namespace plumb::kernels {

// Tiles in shared memory have kWidth + 8 numbers from row to row, so that eight rows of a matrix lie in different
// banks. A block has four warps; each owns 16 rows of the tile that stays, and goes over the tiles that pass by.

inline constexpr unsigned int kAttentionThreads = 128;
inline constexpr int kTileRows = 64;  ///< rows of the tile that stays
inline constexpr float kLog2E = 1.44269504088896341F;
inline constexpr float kLn2 = 0.69314718055994531F;

template <int kWidth>
inline constexpr int kTileStride = kWidth + 8;

/// Some rows of one head in global memory.
struct TileSource {
  const BFloat16* rows;  ///< rows of the head, in the sample
  std::int64_t stride;
  std::int64_t count;  ///< rows of the sample; rows from there on become 0
  std::int64_t width;  ///< columns of a head; columns from there on become 0
  bool aligned;        ///< to 16 bytes, rows and heads
};

/// Starts to bring rows [first, first + kRows) to shared memory.
template <int kWidth, int kRows>
__device__ inline void fetch_tile(BFloat16* tile, const TileSource& source, std::int64_t first) {
  constexpr int kPacks = kWidth / 8;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kPacks; i += static_cast<int>(kAttentionThreads)) {
    const std::int64_t row = first + i / kPacks;
    const int column = i % kPacks * 8;
    BFloat16* to = tile + i / kPacks * kTileStride<kWidth> + column;
    if (source.aligned) {
      const bool valid = row < source.count && column < source.width;
      copy_async(to, valid ? source.rows + row * source.stride + column : source.rows, valid);
      continue;
    }
    for (int j = 0; j < 8; ++j) {
      const bool valid = row < source.count && column + j < source.width;
      to[j] = valid ? source.rows[row * source.stride + column + j] : BFloat16{0};
    }
  }
}

/// The 16 rows of a warp in the tile that stays: in registers where heads are narrow, since shared memory is slower.
template <int kWidth>
struct OwnRows {
  static constexpr bool kKept = kWidth <= 64;

  const BFloat16* row = nullptr;
  std::uint32_t kept[kKept ? kWidth / 16 : 1][4] = {};

  /// `rows`: in shared memory, where they must have arrived.
  __device__ void take(const BFloat16* rows) {
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    row = rows + lane % 16 * kTileStride<kWidth> + lane / 16 * 8;
    if constexpr (kKept) {
#pragma unroll
      for (int k = 0; k < kWidth; k += 16) load_matrices(kept[k / 16], row + k);
    }
  }
};

/// c += a b^T: the rows of a by kRows rows of tile b.
template <int kWidth, int kRows>
__device__ inline void rows_by_rows(float (&c)[kRows / 8][4], const OwnRows<kWidth>& a, const BFloat16* b) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const BFloat16* row_of_b = b + (lane / 16 * 8 + lane % 8) * kTileStride<kWidth> + lane / 8 % 2 * 8;
#pragma unroll
  for (int k = 0; k < kWidth; k += 16) {
    std::uint32_t left[4];
    if constexpr (OwnRows<kWidth>::kKept) {
#pragma unroll
      for (int i = 0; i < 4; ++i) left[i] = a.kept[k / 16][i];
    } else {
      load_matrices(left, a.row + k);
    }
#pragma unroll
    for (int n = 0; n < kRows; n += 16) {
      std::uint32_t right[4];
      load_matrices(right, row_of_b + n * kTileStride<kWidth> + k);
      multiply_add(c[n / 8], left, right[0], right[1]);
      multiply_add(c[n / 8 + 1], left, right[2], right[3]);
    }
  }
}

/// c += a b: 16 x kRows numbers in registers by kRows rows of tile b.
template <int kWidth, int kRows>
__device__ inline void registers_by_rows(float (&c)[kWidth / 8][4], const float (&a)[kRows / 8][4], const BFloat16* b) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const BFloat16* row_of_b = b + (lane / 8 % 2 * 8 + lane % 8) * kTileStride<kWidth> + lane / 16 * 8;
#pragma unroll
  for (int k = 0; k < kRows; k += 16) {
    const float(&low)[4] = a[k / 8];
    const float(&high)[4] = a[k / 8 + 1];
    const std::uint32_t left[4] = {pair(low[0], low[1]), pair(low[2], low[3]), pair(high[0], high[1]),
                                   pair(high[2], high[3])};
#pragma unroll
    for (int n = 0; n < kWidth; n += 16) {
      std::uint32_t right[4];
      load_transposed(right, row_of_b + k * kTileStride<kWidth> + n);
      multiply_add(c[n / 8], left, right[0], right[1]);
      multiply_add(c[n / 8 + 1], left, right[2], right[3]);
    }
  }
}

/// Row and first column of a lane's accumulators; element i stands in row + i / 2 * 8, column + i % 2.
__device__ inline int accumulator_row() { return static_cast<int>(threadIdx.x % kWarp / 4); }
__device__ inline int accumulator_column() { return static_cast<int>(threadIdx.x % 4 * 2); }
__device__ inline int first_row_of_warp() { return static_cast<int>(threadIdx.x / kWarp) * 16; }

/// Writes a lane's part of 16 x kWidth results, each row times its factor.
template <int kWidth>
__device__ inline void store_rows(const float (&c)[kWidth / 8][4], const float (&factors)[2], BFloat16* to,
                                  const TileSource& shape, std::int64_t first) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = first + accumulator_row() + half * 8;
    if (row >= shape.count) continue;
    BFloat16* place = to + row * shape.stride;
#pragma unroll
    for (int n = 0; n < kWidth / 8; ++n) {
      const int column = n * 8 + accumulator_column();
      const std::uint32_t both = pair(c[n][half * 2] * factors[half], c[n][half * 2 + 1] * factors[half]);
      if (shape.aligned && column < shape.width) {
        store<2>(place + column,
                 {{{static_cast<std::uint16_t>(both & 0xFFFFU)}, {static_cast<std::uint16_t>(both >> 16U)}}});
      } else {
        if (column < shape.width) place[column] = {static_cast<std::uint16_t>(both & 0xFFFFU)};
        if (column + 1 < shape.width) place[column + 1] = {static_cast<std::uint16_t>(both >> 16U)};
      }
    }
  }
}

/// Whether rows and heads begin at multiples of 16 bytes.
template <class... T>
bool heads_aligned(const AttentionShape& shape, const HeadRows<T>&... all) {
  const auto aligned = [](const auto& rows) {
    return rows.stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(rows.rows) % 16 == 0;
  };
  return shape.head_width % 8 == 0 && (aligned(all) && ...);
}

}  // namespace plumb::kernels
