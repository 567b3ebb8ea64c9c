#include "trainer/cuda/layers/cuda_arithmetic.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

template <class T>
std::unique_ptr<CudaLayer<T>> make_linear(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<LinearLayer<CudaArithmetic<T>>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_linear(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_linear(const LayerSpec&, const MicrobatchShape&);

template <class T>
std::unique_ptr<CudaLayer<T>> make_cross_projection(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CrossProjectionLayer<CudaArithmetic<T>>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_cross_projection(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_cross_projection(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
