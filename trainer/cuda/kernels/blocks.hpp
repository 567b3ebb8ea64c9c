#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "trainer/cuda/kernels/segment.hpp"
#include "trainer/cuda/kernels/stream.hpp"
#include "trainer/numbers/elementwise.hpp"
#include "trainer/numbers/number.hpp"

// Operations on flat blocks of numbers. Built without contraction of a b + c, so that float gives the CPU's bits.

namespace plumb::kernels {

/// sum += term
template <class T>
void add(T* sum, const T* term, std::int64_t count, Stream stream);

/// sum += term, each number made a float first.
void add_rounded(float* sum, const BFloat16* term, std::int64_t count, Stream stream);

/// Copies by a kernel, not by a copy engine.
void copy_bytes(void* to, const void* from, std::int64_t bytes, Stream stream);

/// Fills with zeros.
void clear(void* bytes, std::int64_t count, Stream stream);

/// to = from, rounded.
void convert(BFloat16* to, const float* from, std::int64_t count, Stream stream);
template <class T>
void convert(T* to, const double* from, std::int64_t count, Stream stream);

/// Multiplies every segment by its factor.
template <class T>
void scale(T* block, std::span<const Segment> segments, Stream stream);

/// Two blocks of numbers, and where the sums of their products go: one per segment, on the device.
template <class T>
struct Products {
  const T* a = nullptr;
  const T* b = nullptr;
  double* sums = nullptr;
  std::byte* scratch = nullptr;  ///< products_scratch_bytes(segments)
};
std::int64_t products_scratch_bytes(std::span<const Segment> segments);
template <class T>
void products(const Products<T>& of, std::span<const Segment> segments, Stream stream);

/// An operation of a correction on blocks of its own number (trainer/numbers/elementwise.hpp).
template <class T>
void apply(const Elementwise& operation, std::span<T* const> blocks, std::span<const Segment> segments, Stream stream);

}  // namespace plumb::kernels
