#include "trainer/layers/projection.hpp"

#include "trainer/layers/matrix.hpp"

namespace plumb {

template <class T>
void Projection::forward(const T* x, const T* weight, const T* bias, T* y) const {
  multiply_transposed<T>(matrix(x, tokens, inputs), matrix(weight, outputs, inputs), matrix(y, tokens, outputs));
  if (bias == nullptr) return;
  for (std::int64_t t = 0; t < tokens; ++t) {
    T* row = y + t * outputs;
    for (std::int64_t j = 0; j < outputs; ++j) row[j] += bias[j];
  }
}

template <class T>
void Projection::input_grad(const T* dy, const T* weight, T* dx, std::int64_t dx_stride) const {
  multiply<T>(matrix(dy, tokens, outputs), matrix(weight, outputs, inputs), matrix(dx, tokens, inputs, dx_stride));
}

template <class T>
void Projection::weight_grad(const T* dy, const T* x, T* weight_grad, T* bias_grad) const {
  if (weight_grad != nullptr) {
    accumulate_outer<T>(matrix(dy, tokens, outputs), matrix(x, tokens, inputs), matrix(weight_grad, outputs, inputs));
  }
  if (bias_grad == nullptr) return;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const T* row = dy + t * outputs;
    for (std::int64_t j = 0; j < outputs; ++j) bias_grad[j] += row[j];
  }
}

template void Projection::forward(const float*, const float*, const float*, float*) const;
template void Projection::forward(const double*, const double*, const double*, double*) const;
template void Projection::input_grad(const float*, const float*, float*, std::int64_t) const;
template void Projection::input_grad(const double*, const double*, double*, std::int64_t) const;
template void Projection::weight_grad(const float*, const float*, float*, float*) const;
template void Projection::weight_grad(const double*, const double*, double*, double*) const;

}  // namespace plumb
