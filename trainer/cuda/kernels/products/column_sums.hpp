#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// Returns the bytes of partial sums for `sums` sums over the rows of a matrix. Rows are cut into chunks by their
/// number alone, so the order of every sum follows from the shape of the problem and not from the machine.
std::int64_t column_scratch_bytes(std::int64_t rows, std::int64_t width, int sums);

/// sums[c] += sum over the rows of matrix[row, c]: gradients of biases.
template <class T>
struct ColumnSums {
  const T* matrix = nullptr;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  float* sums = nullptr;
  std::byte* scratch = nullptr;  ///< column_scratch_bytes(rows, width, 1)
};
template <class T>
void add_column_sums(const ColumnSums<T>& columns, Stream stream);

}  // namespace plumb::kernels
