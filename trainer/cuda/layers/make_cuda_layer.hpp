#pragma once

#include <memory>

#include "models/network/network.hpp"
#include "trainer/cuda/layers/cuda_layer.hpp"

namespace plumb::kernels {

/// The layer of `spec`, for float or BFloat16. Throws Error for kinds that have no arithmetic on CUDA.
template <class T>
std::unique_ptr<CudaLayer<T>> make_cuda_layer(const LayerSpec& spec, const MicrobatchShape& shape);

}  // namespace plumb::kernels
