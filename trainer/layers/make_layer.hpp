#pragma once

#include <memory>

#include "models/network/network.hpp"
#include "trainer/layers/layer.hpp"

namespace plumb {

/// The layer of `spec`, for float or double. Throws Error for kinds that have no arithmetic of their own: profiled
/// layers, and residual blocks (which `StageLayout` opens up).
template <class T>
std::unique_ptr<Layer<T>> make_layer(const LayerSpec& spec, const MicrobatchShape& shape);

}  // namespace plumb
