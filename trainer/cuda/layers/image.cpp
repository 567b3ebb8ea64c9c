#include "trainer/cuda/layers/image_sizes.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

template <class T>
class MaxPoolLayer final : public CudaLayer<T> {
 public:
  MaxPoolLayer(const LayerSpec& spec, const MicrobatchShape& shape) : window_(image_window(spec, shape.tokens())) {}

  void forward(const CudaPass<T>& pass) const override {
    max_pool<T>({window_, pass.input, pass.output, places(pass)}, pass.device.stream);
  }
  void input_grad(const CudaPass<T>& pass) const override {
    max_pool_grad<T>({window_, pass.output_grad, places(pass), pass.input_grad}, pass.device.stream);
  }
  void weight_grad(const CudaPass<T>&) const override {}

 private:
  static unsigned char* places(const CudaPass<T>& pass) { return reinterpret_cast<unsigned char*>(pass.stash[0]); }

  ImageWindow window_;
};

template <class T>
class CudaAveragePool final : public CudaLayer<T> {
 public:
  CudaAveragePool(const LayerSpec& spec, const MicrobatchShape& shape) : window_(image_window(spec, shape.tokens())) {}

  void forward(const CudaPass<T>& pass) const override {
    if (pass.output != nullptr) average_pool(window_, pass.input, pass.output, pass.device.stream);
  }
  void input_grad(const CudaPass<T>& pass) const override {
    average_pool_grad(window_, pass.output_grad, pass.input_grad, pass.device.stream);
  }
  void weight_grad(const CudaPass<T>&) const override {}

 private:
  ImageWindow window_;
};

template <class T>
class ReluLayer final : public CudaLayer<T> {
 public:
  ReluLayer(const LayerSpec& spec, const MicrobatchShape& shape) : count_(shape.tokens() * spec.width) {}

  void forward(const CudaPass<T>& pass) const override {
    relu<T>({pass.input, pass.output, bits(pass), count_}, pass.device.stream);
  }
  void input_grad(const CudaPass<T>& pass) const override {
    relu_grad<T>({pass.output_grad, bits(pass), pass.input_grad, count_}, pass.device.stream);
  }
  void weight_grad(const CudaPass<T>&) const override {}

 private:
  static unsigned char* bits(const CudaPass<T>& pass) { return reinterpret_cast<unsigned char*>(pass.stash[0]); }

  std::int64_t count_;
};

template <class T>
class CudaPixels final : public CudaLayer<T> {
 public:
  CudaPixels(const LayerSpec& spec, const MicrobatchShape& shape)
      : count_(shape.tokens() * input_image(spec).features()) {}

  void forward(const CudaPass<T>& pass) const override {
    if (pass.output != nullptr) pixels(pass.ids.tokens, pass.output, count_, pass.device.stream);
  }
  void input_grad(const CudaPass<T>&) const override {}
  void weight_grad(const CudaPass<T>&) const override {}

 private:
  std::int64_t count_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_pool(const LayerSpec& spec, const MicrobatchShape& shape) {
  if (spec.kind == LayerKind::kMaxPool) return std::make_unique<MaxPoolLayer<T>>(spec, shape);
  return std::make_unique<CudaAveragePool<T>>(spec, shape);
}
template <class T>
std::unique_ptr<CudaLayer<T>> make_relu(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<ReluLayer<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_pool(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_pool(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<float>> make_relu(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_relu(const LayerSpec&, const MicrobatchShape&);

template <class T>
std::unique_ptr<CudaLayer<T>> make_pixels(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CudaPixels<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_pixels(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_pixels(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
