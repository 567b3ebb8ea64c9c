#include "trainer/layers/cpu_arithmetic.hpp"
#include "trainer/layers/kinds.hpp"

namespace plumb {

template <class T>
std::unique_ptr<Layer<T>> make_linear(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<LinearLayer<CpuArithmetic<T>>>(spec, shape);
}
template std::unique_ptr<Layer<float>> make_linear(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_linear(const LayerSpec&, const MicrobatchShape&);

template <class T>
std::unique_ptr<Layer<T>> make_cross_projection(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CrossProjectionLayer<CpuArithmetic<T>>>(spec, shape);
}
template std::unique_ptr<Layer<float>> make_cross_projection(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_cross_projection(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
