#include <algorithm>
#include <type_traits>

#include "models/layers/layer_workspace.hpp"
#include "trainer/cuda/kernels/convolution_units.hpp"
#include "trainer/cuda/layers/dense.hpp"
#include "trainer/cuda/layers/image_sizes.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

/// Room for patches of images that are laid out at a time.
constexpr std::int64_t kMostPatchBytes = std::int64_t{256} << 20;

/// A matrix product of patches (trainer/layers/convolution.cpp), those of as many images at a time as the scratch has
/// room for.
template <class T>
class CudaConvolution final : public CudaLayer<T> {
 public:
  CudaConvolution(const LayerSpec& spec, const MicrobatchShape& shape)
      : spec_(spec),
        in_(input_image(spec)),
        out_(output_image(spec)),
        images_(shape.tokens()),
        shape_(convolution_shape(spec, images_)) {
    patch_ = spec.kernel * spec.kernel * spec.channels;
    const std::int64_t most = kMostPatchBytes / (out_.pixels() * patch_ * static_cast<std::int64_t>(sizeof(T)));
    together_ = needs_patches(spec) ? std::clamp<std::int64_t>(most, 1, images_) : images_;
  }

  void forward(const CudaPass<T>& pass) const override {
    if (pass.output == nullptr) return;
    const Call call{.pass = ConvolutionPass::kForward,
                    .shape = shape_,
                    .images = pass.input,
                    .filters = pass.weights[0],
                    .result = pass.output};
    answer(pass.device, call, [&] { own_forward(pass); });
  }

  void input_grad(const CudaPass<T>& pass) const override {
    if (pass.input_grad == nullptr) return;
    const Call call{.pass = ConvolutionPass::kInputGrad,
                    .shape = shape_,
                    .filters = pass.weights[0],
                    .output_grad = pass.output_grad,
                    .result = pass.input_grad};
    answer(pass.device, call, [&] { own_input_grad(pass); });
  }

  void weight_grad(const CudaPass<T>& pass) const override {
    const Call call{.pass = ConvolutionPass::kWeightGrad,
                    .shape = shape_,
                    .images = pass.input,
                    .output_grad = pass.output_grad,
                    .filter_grad = pass.gradients[0]};
    answer(pass.device, call, [&] { own_weight_grad(pass); });
  }

  std::int64_t scratch_bytes() const override {
    return patch_bytes() + Dense<T>{together_ * out_.pixels(), patch_, spec_.filters}.scratch_bytes();
  }

 private:
  using Call = ConvolutionCall<T>;

  /// By whoever the device has for it.
  template <class Own>
  void answer(const DeviceContext& device, Call call, Own own) const {
    if constexpr (std::is_same_v<T, BFloat16>) {
      if (device.convolutions != nullptr && asks_for_convolution(spec_)) {
        call.own = own;
        if (device.convolutions->run(call, device.stream)) return;
      }
    }
    own();
  }

  void own_forward(const CudaPass<T>& pass) const {
    for_each_group([&](std::int64_t first, const Dense<T>& dense) {
      dense.forward(pass, patches(pass, first, dense), {pass.weights[0], spec_.bias ? pass.weights[1] : nullptr},
                    pass.output + first * out_.features());
    });
  }

  void own_input_grad(const CudaPass<T>& pass) const {
    for_each_group([&](std::int64_t first, const Dense<T>& dense) {
      const T* output_grad = pass.output_grad + first * out_.features();
      T* input_grad = pass.input_grad + first * in_.features();
      T* to = needs_patches(spec_) ? reinterpret_cast<T*>(pass.device.scratch) : input_grad;
      dense.input_grad(pass, output_grad, pass.weights[0], to);
      if (to != input_grad) {
        gather_patches<T>(image_window(spec_, dense.tokens / out_.pixels()), to, input_grad, pass.device.stream);
      }
    });
  }

  void own_weight_grad(const CudaPass<T>& pass) const {
    for_each_group([&](std::int64_t first, const Dense<T>& dense) {
      const T* rows = patches(pass, first, dense);
      CudaPass<T> sums = pass;
      sums.device.scratch += patch_bytes();
      dense.weight_grad(sums, pass.output_grad + first * out_.features(), rows, pass.gradients[0],
                        spec_.bias ? pass.gradients[1] : nullptr);
    });
  }

  template <class F>
  void for_each_group(F f) const {
    for (std::int64_t first = 0; first < images_; first += together_) {
      f(first, Dense<T>{std::min(together_, images_ - first) * out_.pixels(), patch_, spec_.filters});
    }
  }

  std::int64_t patch_bytes() const {
    if (!needs_patches(spec_)) return 0;
    return (together_ * out_.pixels() * patch_ * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
  }

  /// The patches of the images of a group, in scratch or, where they are the pixels, in the input.
  const T* patches(const CudaPass<T>& pass, std::int64_t first, const Dense<T>& dense) const {
    const T* input = pass.input + first * in_.features();
    if (!needs_patches(spec_)) return input;
    T* to = reinterpret_cast<T*>(pass.device.scratch);
    lay_out_patches<T>(image_window(spec_, dense.tokens / out_.pixels()), input, to, pass.device.stream);
    return to;
  }

  LayerSpec spec_;
  ImageShape in_;
  ImageShape out_;
  std::int64_t images_;
  ConvolutionShape shape_;
  std::int64_t patch_ = 0;
  std::int64_t together_ = 1;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_convolution(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CudaConvolution<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_convolution(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_convolution(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
