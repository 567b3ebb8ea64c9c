#include "trainer/layers/kinds.hpp"

namespace plumb {

namespace {

/// max(x, 0). Stash: one bit per number, set where x > 0.
template <class T>
class Relu final : public Layer<T> {
 public:
  Relu(const LayerSpec& spec, const MicrobatchShape& shape) : count_(shape.tokens() * spec.width) {}

  void forward(const LayerPass<T>& pass) const override {
    auto* bits = reinterpret_cast<unsigned char*>(pass.stash[0]);
    const T* x = pass.input;
    for (std::int64_t byte = 0; byte * 8 < count_; ++byte) {
      unsigned int set = 0;
      const std::int64_t end = byte * 8 + 8 < count_ ? 8 : count_ - byte * 8;
      for (std::int64_t i = 0; i < end; ++i) set |= static_cast<unsigned int>(x[byte * 8 + i] > T(0)) << i;
      bits[byte] = static_cast<unsigned char>(set);
    }
    if (pass.output == nullptr) return;
    for (std::int64_t i = 0; i < count_; ++i) pass.output[i] = x[i] > T(0) ? x[i] : T(0);
  }

  void input_grad(const LayerPass<T>& pass) const override {
    const auto* bits = reinterpret_cast<const unsigned char*>(pass.stash[0]);
    const std::int64_t whole = count_ / 8;
    for (std::int64_t byte = 0; byte < whole; ++byte) select<8>(bits[byte], pass, byte * 8);
    for (std::int64_t i = whole * 8; i < count_; ++i) {
      select<1>(static_cast<unsigned int>(bits[whole]) >> (i - whole * 8), pass, i);
    }
  }

  void weight_grad(const LayerPass<T>&) const override {}

 private:
  /// The gradients from `first` on whose bit is set; a loop of fixed length without branches.
  template <unsigned int kCount>
  static void select(unsigned int bits, const LayerPass<T>& pass, std::int64_t first) {
    const T* dy = pass.output_grad + first;
    T* dx = pass.input_grad + first;
    for (unsigned int i = 0; i < kCount; ++i) dx[i] = (bits & (1U << i)) != 0 ? dy[i] : T(0);
  }

  std::int64_t count_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_relu(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Relu<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_relu(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_relu(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
