#pragma once

#include "trainer/layers/composed_layers.hpp"
#include "trainer/layers/layer.hpp"
#include "trainer/layers/projection.hpp"

namespace plumb {

/// The arithmetic of the CPU, for composed layers.
template <class T>
struct CpuArithmetic {
  using Number = T;
  using Pass = LayerPass<T>;
  using Interface = Layer<T>;
  using Product = Projection<T>;
};

}  // namespace plumb
