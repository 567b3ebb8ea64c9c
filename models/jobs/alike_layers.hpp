#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/network/network.hpp"

namespace plumb {

/// Returns, by layer, the first one that is equal but for its name, so that it is priced once. Where layers say what
/// they read, none is. Internal to this folder.
std::vector<std::int32_t> first_alike(std::span<const LayerSpec> layers);

}  // namespace plumb
