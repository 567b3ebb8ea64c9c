#include "trainer/cuda/layers/dense.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

/// Rows q | k | v: queries of the input, keys and values of the second input (trainer/layers/cross_projection.cpp).
/// The three weights are one matrix.
template <class T>
class CudaCrossProjection final : public CudaLayer<T> {
 public:
  CudaCrossProjection(const LayerSpec& spec, const MicrobatchShape& shape)
      : queries_{shape.tokens(), spec.width, spec.width},
        keys_{shape.tokens(), spec.width, 2 * spec.width},
        width_(spec.width),
        has_bias_(spec.bias) {}

  void forward(const CudaPass<T>& pass) const override {
    if (pass.output == nullptr) return;
    const T* bias = has_bias_ ? pass.weights[1] : nullptr;
    MatrixProduct of_queries = queries_.forward_product(pass.input, pass.weights[0], bias, pass.output);
    MatrixProduct of_keys = keys_.forward_product(pass.from, pass.weights[0] + width_ * width_,
                                                  has_bias_ ? bias + width_ : nullptr, pass.output + width_);
    of_queries.c_stride = of_keys.c_stride = 3 * width_;
    pass.device.products->run(of_queries, pass.device.stream);
    pass.device.products->run(of_keys, pass.device.stream);
  }

  void input_grad(const CudaPass<T>& pass) const override {
    if (pass.input_grad != nullptr) {
      MatrixProduct of_queries = queries_.input_grad_product(pass.output_grad, pass.weights[0], pass.input_grad);
      of_queries.a.stride = 3 * width_;
      pass.device.products->run(of_queries, pass.device.stream);
    }
    MatrixProduct of_keys =
        keys_.input_grad_product(pass.output_grad + width_, pass.weights[0] + width_ * width_, pass.from_grad);
    of_keys.a.stride = 3 * width_;
    pass.device.products->run(of_keys, pass.device.stream);
  }

  void weight_grad(const CudaPass<T>& pass) const override {
    const auto grad = [&](const T* dy, const T* x, float* to, std::int64_t rows) {
      const MatrixProduct product{.a = {dy, 3 * width_, true},
                                  .b = {x, width_, false},
                                  .c = to,
                                  .c_stride = width_,
                                  .rows = rows,
                                  .columns = width_,
                                  .depth = queries_.tokens,
                                  .operands = kKindOf<T>,
                                  .result = NumberKind::kFloat32,
                                  .accumulates = true};
      pass.device.products->run(product, pass.device.stream);
    };
    grad(pass.output_grad, pass.input, pass.gradients[0], width_);
    grad(pass.output_grad + width_, pass.from, pass.gradients[0] + width_ * width_, 2 * width_);
    if (!has_bias_) return;
    add_column_sums<T>({pass.output_grad, queries_.tokens, 3 * width_, pass.gradients[1], pass.device.scratch},
                       pass.device.stream);
  }

  std::int64_t scratch_bytes() const override { return column_scratch_bytes(queries_.tokens, 3 * width_, 1); }

 private:
  Dense<T> queries_;
  Dense<T> keys_;
  std::int64_t width_;
  bool has_bias_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_cross_projection(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CudaCrossProjection<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_cross_projection(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_cross_projection(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
