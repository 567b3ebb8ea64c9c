#include "trainer/layers/projection.hpp"

#include "trainer/layers/matrix.hpp"

namespace plumb {

namespace {

template <class T>
void multiply_by(T factor, MatrixView<T> values) {
  for (std::int64_t i = 0; i < values.rows; ++i) {
    T* row = values.data + i * values.stride;
    for (std::int64_t j = 0; j < values.columns; ++j) row[j] *= factor;
  }
}

}  // namespace

template <class T>
void Projection<T>::forward(const LayerPass<T>&, const T* x, const AffineWeights<T>& weights, T* y,
                            const ProductTerms& terms) const {
  const auto product = terms.adds ? accumulate_transposed<T> : multiply_transposed<T>;
  const MatrixView<T> result = matrix(y, tokens, outputs, y_stride);
  product(matrix(x, tokens, inputs), matrix(weights.weight, outputs, inputs), result);
  if (terms.scale != 1) multiply_by(static_cast<T>(terms.scale), result);
  if (weights.bias == nullptr) return;
  for (std::int64_t t = 0; t < tokens; ++t) {
    T* row = y + t * result.stride;
    for (std::int64_t j = 0; j < outputs; ++j) row[j] += weights.bias[j];
  }
}

template <class T>
void Projection<T>::input_grad(const LayerPass<T>&, const T* dy, const T* weight, T* dx,
                               const ProductTerms& terms) const {
  const auto product = terms.adds ? accumulate<T> : multiply<T>;
  const MatrixView<T> result = matrix(dx, tokens, inputs, terms.stride);
  product(matrix(dy, tokens, outputs, y_stride), matrix(weight, outputs, inputs), result);
  if (terms.scale != 1) multiply_by(static_cast<T>(terms.scale), result);
}

template <class T>
void Projection<T>::weight_grad(const LayerPass<T>&, const T* dy, const T* x, T* weight_grad, T* bias_grad) const {
  const MatrixView<const T> gradient = matrix(dy, tokens, outputs, y_stride);
  if (weight_grad != nullptr) {
    accumulate_outer<T>(gradient, matrix(x, tokens, inputs), matrix(weight_grad, outputs, inputs));
  }
  if (bias_grad == nullptr) return;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const T* row = dy + t * gradient.stride;
    for (std::int64_t j = 0; j < outputs; ++j) bias_grad[j] += row[j];
  }
}

template struct Projection<float>;
template struct Projection<double>;

}  // namespace plumb
