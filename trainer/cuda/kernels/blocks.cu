#include "trainer/cuda/kernels/blocks.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "trainer/cuda/kernels/segment_table.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kThreads = 256;

LaunchShape thread_each(std::int64_t count) {
  return {dim3(static_cast<unsigned int>(ceil_div(count, kThreads))), dim3(kThreads)};
}
__device__ inline std::int64_t number_of_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) add_packs(T* sum, const T* term, std::int64_t count) {
  const std::int64_t at = number_of_thread() * N;
  if (at >= count) return;
  Pack<T, N> to = load<N>(sum + at);
  const Pack<T, N> more = load<N>(term + at);
#pragma unroll
  for (int i = 0; i < N; ++i) to.v[i] = from_float<T>(to_float(to.v[i]) + to_float(more.v[i]));
  store(sum + at, to);
}

__global__ void __launch_bounds__(kThreads) add_numbers(float* sum, const BFloat16* term, std::int64_t count) {
  const std::int64_t at = number_of_thread();
  if (at < count) sum[at] += to_float(term[at]);
}

template <class Unit>
__global__ void __launch_bounds__(kThreads) copy_units(Unit* to, const Unit* from, std::int64_t count) {
  const std::int64_t at = number_of_thread();
  if (at < count) store<1>(to + at, load<1>(from + at));
}
template <class Unit>
__global__ void __launch_bounds__(kThreads) clear_units(Unit* to, std::int64_t count) {
  const std::int64_t at = number_of_thread();
  if (at < count) store<1>(to + at, Pack<Unit, 1>{});
}

template <class To, class From>
__global__ void __launch_bounds__(kThreads) convert_numbers(To* to, const From* from, std::int64_t count) {
  const std::int64_t at = number_of_thread();
  if (at < count) to[at] = from_float<To>(static_cast<float>(from[at]));
}

template <class T>
__global__ void __launch_bounds__(kSegmentThreads) scale_pieces(T* block, const __grid_constant__ SegmentTable table) {
  const Piece piece = piece_of_block(table);
  const float factor = table.factor[piece.segment];
  for (std::int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kSegmentThreads) {
    block[i] = from_float<T>(to_float(block[i]) * factor);
  }
}

/// The sum of this block's `mine`, in a tree.
__device__ inline double sum_of_block(double mine) {
  __shared__ double partial[kSegmentThreads];
  partial[threadIdx.x] = mine;
  for (unsigned int half = kSegmentThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  return partial[0];
}

template <class T>
__global__ void __launch_bounds__(kSegmentThreads)
    multiply_pieces(const T* a, const T* b, const __grid_constant__ SegmentTable table, double* partial) {
  const Piece piece = piece_of_block(table);
  double sum = 0;
  for (std::int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kSegmentThreads) {
    sum += static_cast<double>(to_float(a[i])) * static_cast<double>(to_float(b[i]));
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// A block per segment adds up the sums of its pieces.
__global__ void __launch_bounds__(kSegmentThreads)
    add_pieces(const double* partial, const __grid_constant__ SegmentTable table, double* sums) {
  double sum = 0;
  const std::int32_t end = table.first_piece[blockIdx.x + 1];
  for (std::int32_t i = table.first_piece[blockIdx.x] + static_cast<std::int32_t>(threadIdx.x); i < end;
       i += static_cast<std::int32_t>(kSegmentThreads)) {
    sum += partial[i];
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) sums[table.first_segment + static_cast<int>(blockIdx.x)] = sum;
}

/// As many blocks of numbers as an operation works on.
template <class T, int kCount>
struct BlockList {
  T* blocks[kCount];
};

template <class T, class Operation, std::size_t... kIndex>
__device__ inline void apply_at(const Operation& operation, bool decayed, const BlockList<T, Operation::kBlocks>& list,
                                std::int64_t i, std::index_sequence<kIndex...>) {
  float x[Operation::kBlocks] = {to_float(list.blocks[kIndex][i])...};
  const float before[Operation::kBlocks] = {x[kIndex]...};
  operation(decayed, x[kIndex]...);
  // Only what has changed is written: another block of the list may be the same.
  ((x[kIndex] != before[kIndex] ? void(list.blocks[kIndex][i] = from_float<T>(x[kIndex])) : void()), ...);
}

template <class T, class Operation>
__global__ void __launch_bounds__(kSegmentThreads)
    apply_pieces(Operation operation, BlockList<T, Operation::kBlocks> list,
                 const __grid_constant__ SegmentTable table) {
  const Piece piece = piece_of_block(table);
  for (std::int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kSegmentThreads) {
    apply_at<T>(operation, table.decayed[piece.segment], list, i, std::make_index_sequence<Operation::kBlocks>());
  }
}

bool aligned(const void* a, const void* b, std::int64_t bytes) {
  return (reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
          static_cast<std::uintptr_t>(bytes)) %
             16 ==
         0;
}

}  // namespace

template <class T>
void add(T* sum, const T* term, std::int64_t count, Stream stream) {
  if (in_packs<T>(count, sum, term)) {
    launch(add_packs<T, kVector<T>>, thread_each(count / kVector<T>), stream, sum, term, count);
  } else {
    launch(add_packs<T, 1>, thread_each(count), stream, sum, term, count);
  }
}

void add_rounded(float* sum, const BFloat16* term, std::int64_t count, Stream stream) {
  launch(add_numbers, thread_each(count), stream, sum, term, count);
}

void copy_bytes(void* to, const void* from, std::int64_t bytes, Stream stream) {
  if (aligned(to, from, bytes)) {
    launch(copy_units<uint4>, thread_each(bytes / 16), stream, static_cast<uint4*>(to), static_cast<const uint4*>(from),
           bytes / 16);
  } else {
    launch(copy_units<char>, thread_each(bytes), stream, static_cast<char*>(to), static_cast<const char*>(from), bytes);
  }
}

void clear(void* bytes, std::int64_t count, Stream stream) {
  if (aligned(bytes, bytes, count)) {
    launch(clear_units<uint4>, thread_each(count / 16), stream, static_cast<uint4*>(bytes), count / 16);
  } else {
    launch(clear_units<char>, thread_each(count), stream, static_cast<char*>(bytes), count);
  }
}

void convert(BFloat16* to, const float* from, std::int64_t count, Stream stream) {
  launch(convert_numbers<BFloat16, float>, thread_each(count), stream, to, from, count);
}
template <class T>
void convert(T* to, const double* from, std::int64_t count, Stream stream) {
  launch(convert_numbers<T, double>, thread_each(count), stream, to, from, count);
}

template <class T>
void scale(T* block, std::span<const Segment> segments, Stream stream) {
  for_tables(segments, [&](const SegmentTable& table, const LaunchShape& shape) {
    launch(scale_pieces<T>, shape, stream, block, table);
  });
}

std::int64_t products_scratch_bytes(std::span<const Segment> segments) {
  std::int64_t pieces = 0;
  for (const Segment& segment : segments) pieces += ceil_div(segment.count, kSegmentNumbers);
  return pieces * static_cast<std::int64_t>(sizeof(double));
}

template <class T>
void products(const Products<T>& of, std::span<const Segment> segments, Stream stream) {
  auto* partial = reinterpret_cast<double*>(of.scratch);
  for_tables(segments, [&](const SegmentTable& table, const LaunchShape& shape) {
    launch(multiply_pieces<T>, shape, stream, of.a, of.b, table, partial);
    const LaunchShape all{dim3(static_cast<unsigned int>(table.segments)), dim3(kSegmentThreads)};
    launch(add_pieces, all, stream, static_cast<const double*>(partial), table, of.sums);
  });
}

template <class T>
void apply(const Elementwise& operation, std::span<T* const> blocks, std::span<const Segment> segments, Stream stream) {
  const auto by = [&]<class Operation>(const Operation& of) {
    BlockList<T, Operation::kBlocks> list{};
    for (std::size_t i = 0; i < Operation::kBlocks; ++i) list.blocks[i] = blocks[i];
    for_tables(segments, [&](const SegmentTable& table, const LaunchShape& shape) {
      launch(apply_pieces<T, Operation>, shape, stream, of, list, table);
    });
  };
  std::visit(by, operation);
}

template void add(float*, const float*, std::int64_t, Stream);
template void add(BFloat16*, const BFloat16*, std::int64_t, Stream);
template void convert(float*, const double*, std::int64_t, Stream);
template void convert(BFloat16*, const double*, std::int64_t, Stream);
template void scale(float*, std::span<const Segment>, Stream);
template void scale(BFloat16*, std::span<const Segment>, Stream);
template void products(const Products<float>&, std::span<const Segment>, Stream);
template void products(const Products<BFloat16>&, std::span<const Segment>, Stream);
template void apply(const Elementwise&, std::span<float* const>, std::span<const Segment>, Stream);
template void apply(const Elementwise&, std::span<BFloat16* const>, std::span<const Segment>, Stream);

}  // namespace plumb::kernels
