#include <algorithm>

#include "models/layers/layer_workspace.hpp"
#include "models/network/layer_shape.hpp"
#include "trainer/layers/kinds.hpp"
#include "trainer/layers/projection.hpp"

namespace plumb {

namespace {

/// A matrix product of patches (Chellapilla et al. 2006): one row per output pixel, columns by line and column of the
/// window and channel. Parameters: weight [filters, kernel x kernel x channels], bias (optional). Stash: none, but
/// input and output gradient stay for W. Patches of some images at a time are in the workspace; a 1 x 1 window needs
/// none.
template <class T>
class Convolution final : public Layer<T> {
 public:
  Convolution(const LayerSpec& spec, const MicrobatchShape& shape)
      : spec_(spec),
        in_(input_image(spec)),
        out_(output_image(spec)),
        images_(shape.tokens()),
        patch_(spec.kernel * spec.kernel * spec.channels),
        together_(convolution_images(spec, images_, static_cast<std::int64_t>(sizeof(T)))) {
    if (!needs_patches(spec)) together_ = images_;
  }

  void forward(const LayerPass<T>& pass) const override {
    if (pass.output == nullptr) return;
    for_each_group([&](std::int64_t first, const Projection<T>& product) {
      product.forward(pass, patches(pass, first, product), {pass.weights[0], spec_.bias ? pass.weights[1] : nullptr},
                      pass.output + first * out_.features());
    });
  }

  void input_grad(const LayerPass<T>& pass) const override {
    if (pass.input_grad == nullptr) return;
    for_each_group([&](std::int64_t first, const Projection<T>& product) {
      const T* output_grad = pass.output_grad + first * out_.features();
      T* input_grad = pass.input_grad + first * in_.features();
      if (!needs_patches(spec_)) return product.input_grad(pass, output_grad, pass.weights[0], input_grad);
      T* patch_grads = reinterpret_cast<T*>(pass.workspace);
      product.input_grad(pass, output_grad, pass.weights[0], patch_grads);
      const std::int64_t images = product.tokens / out_.pixels();
      std::fill_n(input_grad, images * in_.features(), T(0));
      for (std::int64_t i = 0; i < images; ++i) {
        spread(patch_grads + i * out_.pixels() * patch_, input_grad + i * in_.features());
      }
    });
  }

  void weight_grad(const LayerPass<T>& pass) const override {
    for_each_group([&](std::int64_t first, const Projection<T>& product) {
      product.weight_grad(pass, pass.output_grad + first * out_.features(), patches(pass, first, product),
                          pass.gradients[0], spec_.bias ? pass.gradients[1] : nullptr);
    });
  }

 private:
  template <class F>
  void for_each_group(F f) const {
    for (std::int64_t first = 0; first < images_; first += together_) {
      f(first, Projection<T>{std::min(together_, images_ - first) * out_.pixels(), patch_, spec_.filters});
    }
  }

  /// The patches of the images of a group, in the workspace or, where they are the pixels, in the input.
  const T* patches(const LayerPass<T>& pass, std::int64_t first, const Projection<T>& product) const {
    const T* input = pass.input + first * in_.features();
    if (!needs_patches(spec_)) return input;
    T* to = reinterpret_cast<T*>(pass.workspace);
    for (std::int64_t i = 0; i < product.tokens / out_.pixels(); ++i) {
      gather(input + i * in_.features(), to + i * out_.pixels() * patch_);
    }
    return to;
  }

  /// The part of a window's line that lies in the image: columns [begin, end) of the window.
  struct Line {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t pixel = 0;  ///< in the image, of `begin`
  };
  Line line_of(std::int64_t output_line, std::int64_t output_column, std::int64_t window_line) const {
    const std::int64_t line = output_line * spec_.stride - spec_.padding + window_line;
    if (line < 0 || line >= in_.height) return {};
    const std::int64_t column = output_column * spec_.stride - spec_.padding;
    const std::int64_t begin = std::max<std::int64_t>(0, -column);
    const std::int64_t end = std::min(spec_.kernel, in_.columns - column);
    return {begin, end, line * in_.columns + column + begin};
  }

  template <class F>
  void for_each_line(F f) const {
    std::int64_t at = 0;
    for (std::int64_t y = 0; y < out_.height; ++y) {
      for (std::int64_t x = 0; x < out_.columns; ++x) {
        for (std::int64_t window = 0; window < spec_.kernel; ++window, at += spec_.kernel * in_.channels) {
          f(line_of(y, x, window), at);
        }
      }
    }
  }

  void gather(const T* image, T* to) const {
    const std::int64_t c = in_.channels;
    for_each_line([&](const Line& line, std::int64_t at) {
      std::fill_n(to + at, line.begin * c, T(0));
      std::copy_n(image + line.pixel * c, (line.end - line.begin) * c, to + at + line.begin * c);
      std::fill_n(to + at + line.end * c, (spec_.kernel - line.end) * c, T(0));
    });
  }

  void spread(const T* patch_grads, T* image_grad) const {
    const std::int64_t c = in_.channels;
    for_each_line([&](const Line& line, std::int64_t at) {
      const T* from = patch_grads + at + line.begin * c;
      T* to = image_grad + line.pixel * c;
      for (std::int64_t i = 0; i < (line.end - line.begin) * c; ++i) to[i] += from[i];
    });
  }

  LayerSpec spec_;
  ImageShape in_;
  ImageShape out_;
  std::int64_t images_;
  std::int64_t patch_;
  std::int64_t together_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_convolution(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Convolution<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_convolution(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_convolution(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
