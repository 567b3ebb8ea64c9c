#pragma once

#include <span>

#include "trainer/cuda/kernels/platform.cuh"
#include "trainer/cuda/kernels/segment.hpp"

namespace plumb::kernels {

inline constexpr unsigned int kSegmentThreads = 256;
inline constexpr std::int64_t kSegmentNumbers = 4096;  ///< numbers of a block of threads
inline constexpr int kMostSegments = 120;              ///< per launch; they are an argument of the kernel

/// Some segments of a flat block. The numbers of a launch are cut into pieces of `kSegmentNumbers`, segment by segment.
struct SegmentTable {
  std::int64_t begin[kMostSegments];  ///< in the flat block
  std::int64_t count[kMostSegments];
  std::int32_t first_piece[kMostSegments + 1];
  float factor[kMostSegments];
  bool decayed[kMostSegments];
  int segments;
  int first_segment;  ///< its number in the whole list
};

/// The part of a segment that a block of threads works on.
struct Piece {
  int segment;
  std::int64_t begin;  ///< in the flat block
  std::int64_t end;
};
__device__ inline Piece piece_of_block(const SegmentTable& table) {
  const auto number = static_cast<std::int32_t>(blockIdx.x);
  int low = 0;
  int high = table.segments;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (table.first_piece[middle] <= number ? low : high) = middle;
  }
  const std::int64_t offset = (number - table.first_piece[low]) * kSegmentNumbers;
  const std::int64_t left = table.count[low] - offset;
  const std::int64_t begin = table.begin[low] + offset;
  return {low, begin, begin + (left < kSegmentNumbers ? left : kSegmentNumbers)};
}

/// f(table, blocks of threads) for all segments, as many at a time as a kernel takes. Empty ones are passed over.
template <class F>
void for_tables(std::span<const Segment> segments, F f) {
  SegmentTable table{};
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto at = static_cast<std::size_t>(table.segments);
    table.begin[at] = begin;
    table.count[at] = segments[i].count;
    table.factor[at] = static_cast<float>(segments[i].factor);
    table.decayed[at] = segments[i].decayed;
    const auto pieces = static_cast<std::int32_t>(ceil_div(segments[i].count, kSegmentNumbers));
    table.first_piece[at + 1] = table.first_piece[at] + pieces;
    begin += segments[i].count;
    ++table.segments;
    if (table.segments < kMostSegments && i + 1 < segments.size()) continue;
    const auto blocks = static_cast<unsigned int>(table.first_piece[table.segments]);
    if (blocks > 0) f(table, LaunchShape{dim3(blocks), dim3(kSegmentThreads)});
    table.segments = 0;
    table.first_segment = static_cast<int>(i) + 1;
  }
}

}  // namespace plumb::kernels
