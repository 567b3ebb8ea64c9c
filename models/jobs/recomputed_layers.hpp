#pragma once

#include <cstdint>
#include <span>

#include "models/network/network.hpp"

namespace plumb {

// What runs again together, from one kept input: a transformer layer, that is the residual layers of its attention and
// of its MLP, or any other residual layer alone.

/// Returns whether `layers[at]` belongs to what runs again with the layer before it.
bool runs_again_with_previous(std::span<const LayerSpec> layers, std::size_t at);

/// Returns how many there are in a stage of `layers`.
std::int32_t layers_to_recompute(std::span<const LayerSpec> layers);

/// Returns the number of `layers` up to the end of the first `count` of them; 0 for none.
std::size_t leading_layers(std::span<const LayerSpec> layers, std::int32_t count);

}  // namespace plumb
