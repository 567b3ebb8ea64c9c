#pragma once

#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// Some columns of rows that lie in samples: row t of sample s is row s * samples_stride + first + t.
template <class T>
struct SampleRows {
  T* rows = nullptr;            ///< the first of the columns
  std::int64_t stride = 0;      ///< numbers from row to row
  std::int64_t per_sample = 0;  ///< rows of a sample
  std::int64_t first = 0;       ///< row of a sample where this begins
};

/// How many rows of every sample, and numbers of each.
struct SampleShape {
  std::int64_t samples = 0;
  std::int64_t sequence = 0;
  std::int64_t width = 0;
};

/// Keys and values of a sequence slice into those of all slices, and their gradients back.
template <class T>
void copy_rows(const SampleShape& shape, const SampleRows<T>& to, const SampleRows<const T>& from, Stream stream);
template <class T>
void add_rows(const SampleShape& shape, const SampleRows<T>& to, const SampleRows<const T>& from, Stream stream);

/// Tokens before the trailing padding (id 0) of every sample, at least one.
void count_tokens(const std::int32_t* ids, const SampleShape& shape, std::int32_t* lengths, Stream stream);

}  // namespace plumb::kernels
