#pragma once

#include <cstdint>
#include <vector>

#include "models/network/network.hpp"

namespace plumb {

/// Returns how the layers of `network` compare where no machine is known: times of a device that computes ten FLOPs
/// while it moves a byte (of F, I and W together, in its own unit). Only their ratios mean something.
std::vector<std::int64_t> relative_layer_times(const Network& network, const MicrobatchShape& shape);

}  // namespace plumb
