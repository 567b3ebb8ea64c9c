#include "trainer/layers/adapter.hpp"

#include "trainer/layers/matrix.hpp"

namespace plumb {

namespace {

template <class T>
void multiply_by(T factor, T* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
}

}  // namespace

Adapter::Adapter(const Projection& beside, const Lora& lora, std::size_t parameter, std::size_t stash)
    : down_{beside.tokens, beside.inputs, lora.rank},
      up_{beside.tokens, lora.rank, beside.outputs},
      scale_(lora.alpha / static_cast<double>(lora.rank)),
      parameter_(parameter),
      stash_(stash) {}

// The stash keeps s h: W then has dB += dy^T (s h), and the scale is applied to few numbers.
template <class T>
void Adapter::forward(const LayerPass<T>& pass, const T* x, T* y) const {
  if (up_.inputs == 0) return;
  T* h = pass.stash_values(stash_);
  down_.forward<T>(x, pass.weights[parameter_], nullptr, h);
  multiply_by(static_cast<T>(scale_), h, up_.tokens * up_.inputs);
  if (y == nullptr) return;
  accumulate_transposed<T>(matrix<const T>(h, up_.tokens, up_.inputs),
                           matrix(pass.weights[parameter_ + 1], up_.outputs, up_.inputs),
                           matrix(y, up_.tokens, up_.outputs));
}

template <class T>
void Adapter::input_grad(const LayerPass<T>& pass, const T* dy, T* dx, std::int64_t dx_stride) const {
  if (up_.inputs == 0) return;
  T* dh = pass.stash_values(stash_ + 1);
  up_.input_grad<T>(dy, pass.weights[parameter_ + 1], dh);
  multiply_by(static_cast<T>(scale_), dh, up_.tokens * up_.inputs);
  if (dx == nullptr) return;
  accumulate<T>(matrix<const T>(dh, down_.tokens, down_.outputs),
                matrix(pass.weights[parameter_], down_.outputs, down_.inputs),
                matrix(dx, down_.tokens, down_.inputs, dx_stride));
}

template <class T>
void Adapter::weight_grad(const LayerPass<T>& pass, const T* dy, const T* x) const {
  if (up_.inputs == 0) return;
  up_.weight_grad<T>(dy, pass.stash_values(stash_), pass.gradients[parameter_ + 1], nullptr);
  down_.weight_grad<T>(pass.stash_values(stash_ + 1), x, pass.gradients[parameter_], nullptr);
}

std::vector<Adapter> make_adapters(const LayerSpec& spec, const std::vector<Projection>& beside, std::size_t parameters,
                                   std::size_t stash) {
  std::vector<Adapter> adapters(beside.size());
  const std::size_t adapted = adapted_products(spec, spec.lora).size();
  for (std::size_t i = 0; i < adapted; ++i) {
    adapters[i] = Adapter(beside[i], spec.lora, parameters + 2 * i, stash + 2 * i);
  }
  return adapters;
}

template void Adapter::forward(const LayerPass<float>&, const float*, float*) const;
template void Adapter::forward(const LayerPass<double>&, const double*, double*) const;
template void Adapter::input_grad(const LayerPass<float>&, const float*, float*, std::int64_t) const;
template void Adapter::input_grad(const LayerPass<double>&, const double*, double*, std::int64_t) const;
template void Adapter::weight_grad(const LayerPass<float>&, const float*, const float*) const;
template void Adapter::weight_grad(const LayerPass<double>&, const double*, const double*) const;

}  // namespace plumb
