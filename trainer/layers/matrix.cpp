#include "trainer/layers/matrix.hpp"

// GCC 12 takes its own AVX-512 intrinsics for reads of uninitialised variables (https://gcc.gnu.org/PR105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <Eigen/Core>

namespace plumb {

namespace {

template <class T>
auto eigen(MatrixView<T> view) {
  using Dense = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Qualified = std::conditional_t<std::is_const_v<T>, const Dense, Dense>;
  return Eigen::Map<Qualified, Eigen::Unaligned, Eigen::OuterStride<>>(view.data, view.rows, view.columns,
                                                                       Eigen::OuterStride<>(view.stride));
}

}  // namespace

template <class T>
void multiply(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  eigen(c).noalias() = eigen(a) * eigen(b);
}

template <class T>
void multiply_transposed(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  eigen(c).noalias() = eigen(a) * eigen(b).transpose();
}

template <class T>
void accumulate(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  eigen(c).noalias() += eigen(a) * eigen(b);
}

template <class T>
void accumulate_transposed(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  eigen(c).noalias() += eigen(a) * eigen(b).transpose();
}

template <class T>
void accumulate_outer(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  eigen(c).noalias() += eigen(a).transpose() * eigen(b);
}

template void multiply(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void multiply(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void multiply_transposed(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void multiply_transposed(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void accumulate(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void accumulate(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void accumulate_transposed(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void accumulate_transposed(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void accumulate_outer(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void accumulate_outer(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);

}  // namespace plumb
