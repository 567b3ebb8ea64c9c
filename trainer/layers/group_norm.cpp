#include <cmath>

#include "trainer/layers/kinds.hpp"

namespace plumb {

namespace {

/// As batch norm, but mean and variance are those of a group of channels in one image (Wu and He, 2018).
/// Parameters: weight, bias; their gradients are made by I. Stash: mean, inverse deviation, by image and group.
template <class T>
class GroupNorm final : public Layer<T> {
 public:
  GroupNorm(const LayerSpec& spec, const MicrobatchShape& shape)
      : images_(shape.tokens()),
        pixels_(spec.height * spec.columns),
        channels_(spec.channels),
        groups_(spec.groups),
        width_(spec.channels / spec.groups),
        size_(static_cast<T>(pixels_ * width_)),
        epsilon_(static_cast<T>(spec.epsilon)) {}

  void forward(const LayerPass<T>& pass) const override {
    for_each_group([&](std::int64_t number, std::int64_t at, std::int64_t channel) {
      const T* x = pass.input + at;
      const T mean = sum([&](std::int64_t i, std::int64_t) { return x[i]; }) / size_;
      const T variance = sum([&](std::int64_t i, std::int64_t) { return (x[i] - mean) * (x[i] - mean); }) / size_;
      const T inverse = T(1) / std::sqrt(variance + epsilon_);
      pass.stash_values(0)[number] = mean;
      pass.stash_values(1)[number] = inverse;
      if (pass.output == nullptr) return;
      T* y = pass.output + at;
      for_each_value([&](std::int64_t i, std::int64_t c) {
        y[i] = (x[i] - mean) * inverse * pass.weights[0][channel + c] + pass.weights[1][channel + c];
      });
    });
  }

  void input_grad(const LayerPass<T>& pass) const override {
    for_each_group([&](std::int64_t number, std::int64_t at, std::int64_t channel) {
      const T* x = pass.input + at;
      const T* dy = pass.output_grad + at;
      T* dx = pass.input_grad + at;
      const T* weight = pass.weights[0] + channel;
      const T mean = pass.stash_values(0)[number];
      const T inverse = pass.stash_values(1)[number];
      for_each_value([&](std::int64_t i, std::int64_t c) {
        if (pass.gradients[0] == nullptr) return;  // frozen
        pass.gradients[0][channel + c] += dy[i] * ((x[i] - mean) * inverse);
        pass.gradients[1][channel + c] += dy[i];
      });
      const T first = sum([&](std::int64_t i, std::int64_t c) { return dy[i] * weight[c]; }) / size_;
      const T second =
          sum([&](std::int64_t i, std::int64_t c) { return dy[i] * weight[c] * ((x[i] - mean) * inverse); }) / size_;
      for_each_value([&](std::int64_t i, std::int64_t c) {
        dx[i] = inverse * (dy[i] * weight[c] - first - (x[i] - mean) * inverse * second);
      });
    });
  }

  void weight_grad(const LayerPass<T>&) const override {}

 private:
  /// f(number of the group, place of its first value, its first channel)
  template <class F>
  void for_each_group(F f) const {
    for (std::int64_t image = 0; image < images_; ++image) {
      for (std::int64_t group = 0; group < groups_; ++group) {
        f(image * groups_ + group, image * pixels_ * channels_ + group * width_, group * width_);
      }
    }
  }

  /// f(place from the first value, channel from the first channel)
  template <class F>
  void for_each_value(F f) const {
    for (std::int64_t p = 0; p < pixels_; ++p) {
      for (std::int64_t c = 0; c < width_; ++c) f(p * channels_ + c, c);
    }
  }

  template <class F>
  T sum(F f) const {
    T total = 0;
    for (std::int64_t p = 0; p < pixels_; ++p) {
      T line = 0;  // pixel by pixel, so that rounding errors stay small
      for (std::int64_t c = 0; c < width_; ++c) line += f(p * channels_ + c, c);
      total += line;
    }
    return total;
  }

  std::int64_t images_;
  std::int64_t pixels_;
  std::int64_t channels_;
  std::int64_t groups_;
  std::int64_t width_;  ///< channels of a group
  T size_;
  T epsilon_;  ///< values of a group
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_group_norm(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<GroupNorm<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_group_norm(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_group_norm(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
