#include "trainer/cuda/kernels/blocks.hpp"
#include "trainer/cuda/kernels/cross_entropy.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

/// The data's numbers, rounded to T.
template <class T>
class CudaValues final : public CudaLayer<T> {
 public:
  CudaValues(const LayerSpec& spec, const MicrobatchShape& shape) : count_(shape.tokens() * spec.width) {}

  void forward(const CudaPass<T>& pass) const override {
    if (pass.output != nullptr) convert(pass.output, pass.ids.values, count_, pass.device.stream);
  }
  void input_grad(const CudaPass<T>&) const override {}
  void weight_grad(const CudaPass<T>&) const override {}

 private:
  std::int64_t count_;
};

/// trainer/layers/squared_error.cpp
template <class T>
class SquaredErrorLayer final : public CudaLayer<T> {
 public:
  SquaredErrorLayer(const LayerSpec& spec, const MicrobatchShape& shape) : rows_(shape.tokens()), width_(spec.width) {}

  void forward(const CudaPass<T>& pass) const override {
    squared_error<T>({.values = pass.input,
                      .targets = pass.ids.target_values,
                      .error = pass.stash_values(0),
                      .rows = rows_,
                      .width = width_,
                      .loss_tokens = pass.loss_tokens,
                      .loss = pass.loss,
                      .scratch = pass.device.scratch},
                     pass.device.stream);
  }
  void input_grad(const CudaPass<T>& pass) const override {
    copy_bytes(pass.input_grad, pass.stash[0], rows_ * width_ * static_cast<std::int64_t>(sizeof(T)),
               pass.device.stream);
  }
  void weight_grad(const CudaPass<T>&) const override {}
  std::int64_t scratch_bytes() const override { return cross_entropy_scratch_bytes(rows_); }

 private:
  std::int64_t rows_;
  std::int64_t width_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_values(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CudaValues<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_values(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_values(const LayerSpec&, const MicrobatchShape&);

template <class T>
std::unique_ptr<CudaLayer<T>> make_squared_error(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<SquaredErrorLayer<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_squared_error(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_squared_error(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
