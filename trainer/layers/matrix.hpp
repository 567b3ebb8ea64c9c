#pragma once

#include <cstdint>

namespace plumb {

/// A row-major matrix in memory that it does not own.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;  ///< numbers from one row to the next
};

/// A dense one when `stride` is 0.
template <class T>
MatrixView<T> matrix(T* data, std::int64_t rows, std::int64_t columns, std::int64_t stride = 0) {
  return {data, rows, columns, stride == 0 ? columns : stride};
}

/// c = a b
template <class T>
void multiply(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c);

/// c = a b^T
template <class T>
void multiply_transposed(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c);

/// c += a b
template <class T>
void accumulate(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c);

/// c += a b^T
template <class T>
void accumulate_transposed(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c);

/// c += a^T b
template <class T>
void accumulate_outer(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c);

}  // namespace plumb
