#include <algorithm>
#include <limits>

#include "trainer/layers/kinds.hpp"
#include "trainer/layers/window.hpp"

namespace plumb {

namespace {

/// Largest of every window, by channel; of equal ones the first. Stash: its place in the window, a byte each.
template <class T>
class MaxPool final : public Layer<T> {
 public:
  MaxPool(const LayerSpec& spec, const MicrobatchShape& shape) : window_(spec), images_(shape.tokens()) {}

  void forward(const LayerPass<T>& pass) const override {
    const std::int64_t c = window_.in.channels;
    for (std::int64_t image = 0; image < images_; ++image) {
      const T* x = pass.input + image * window_.in.features();
      auto* places = reinterpret_cast<unsigned char*>(pass.stash[0]) + image * window_.out.features();
      // Without an output to compare with, the largest so far is looked up by its place.
      std::fill_n(places, window_.out.features(), kNone);
      window_.for_each([&](std::int64_t to, std::int64_t from, std::int64_t place) {
        for (std::int64_t j = 0; j < c; ++j) {
          unsigned char& largest = places[to * c + j];
          if (largest == kNone || x[from * c + j] > x[pixel(to, largest) * c + j]) {
            largest = static_cast<unsigned char>(place);
          }
        }
      });
      if (pass.output == nullptr) continue;
      T* y = pass.output + image * window_.out.features();
      for (std::int64_t i = 0; i < window_.out.features(); ++i) y[i] = x[pixel(i / c, places[i]) * c + i % c];
    }
  }

  void input_grad(const LayerPass<T>& pass) const override {
    const std::int64_t c = window_.in.channels;
    std::fill_n(pass.input_grad, images_ * window_.in.features(), T(0));
    for (std::int64_t image = 0; image < images_; ++image) {
      const auto* places = reinterpret_cast<const unsigned char*>(pass.stash[0]) + image * window_.out.features();
      const T* dy = pass.output_grad + image * window_.out.features();
      T* dx = pass.input_grad + image * window_.in.features();
      for (std::int64_t i = 0; i < window_.out.features(); ++i) dx[pixel(i / c, places[i]) * c + i % c] += dy[i];
    }
  }

  void weight_grad(const LayerPass<T>&) const override {}

 private:
  static constexpr unsigned char kNone = 255;

  /// The input pixel at `place` in the window of an output pixel.
  std::int64_t pixel(std::int64_t to, std::int64_t place) const {
    const std::int64_t line = to / window_.out.columns * window_.stride - window_.padding + place / window_.columns;
    const std::int64_t column = to % window_.out.columns * window_.stride - window_.padding + place % window_.columns;
    return line * window_.in.columns + column;
  }

  Window window_;
  std::int64_t images_;
};

/// Mean of every window, by channel. Stash: none.
template <class T>
class AveragePool final : public Layer<T> {
 public:
  AveragePool(const LayerSpec& spec, const MicrobatchShape& shape)
      : window_(spec), images_(shape.tokens()), share_(T(1) / static_cast<T>(window_.height * window_.columns)) {}

  void forward(const LayerPass<T>& pass) const override {
    if (pass.output == nullptr) return;
    const std::int64_t c = window_.in.channels;
    std::fill_n(pass.output, images_ * window_.out.features(), T(0));
    for (std::int64_t image = 0; image < images_; ++image) {
      const T* x = pass.input + image * window_.in.features();
      T* y = pass.output + image * window_.out.features();
      window_.for_each([&](std::int64_t to, std::int64_t from, std::int64_t) {
        for (std::int64_t j = 0; j < c; ++j) y[to * c + j] += x[from * c + j];
      });
      for (std::int64_t i = 0; i < window_.out.features(); ++i) y[i] *= share_;
    }
  }

  void input_grad(const LayerPass<T>& pass) const override {
    const std::int64_t c = window_.in.channels;
    std::fill_n(pass.input_grad, images_ * window_.in.features(), T(0));
    for (std::int64_t image = 0; image < images_; ++image) {
      const T* dy = pass.output_grad + image * window_.out.features();
      T* dx = pass.input_grad + image * window_.in.features();
      window_.for_each([&](std::int64_t to, std::int64_t from, std::int64_t) {
        for (std::int64_t j = 0; j < c; ++j) dx[from * c + j] += dy[to * c + j] * share_;
      });
    }
  }

  void weight_grad(const LayerPass<T>&) const override {}

 private:
  Window window_;
  std::int64_t images_;
  T share_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_max_pool(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<MaxPool<T>>(spec, shape);
}
template <class T>
std::unique_ptr<Layer<T>> make_average_pool(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<AveragePool<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_max_pool(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_max_pool(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<float>> make_average_pool(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_average_pool(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
