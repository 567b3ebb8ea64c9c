#pragma once

#include "trainer/cuda/layers/cuda_layer.hpp"
#include "trainer/cuda/layers/dense.hpp"
#include "trainer/layers/composed_layers.hpp"

namespace plumb::kernels {

/// The arithmetic of a device, for composed layers (trainer/layers/composed_layers.hpp).
template <class T>
struct CudaArithmetic {
  using Number = T;
  using Pass = CudaPass<T>;
  using Interface = CudaLayer<T>;
  using Product = Dense<T>;
};

}  // namespace plumb::kernels
