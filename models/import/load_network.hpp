#pragma once

#include <string_view>

#include "models/network/network.hpp"

namespace plumb {

/// A built-in network, or the document at a path (anything with a '/' or ending in ".json" or ".txt"): ours, or one
/// that others publish (models/import/published_network.hpp), laid out as a chain of profiled layers, or that of the
/// job of a launch script or configuration (.sh, .slurm, .toml, .yaml). Throws `Error` for unknown names, with the
/// nearest one.
Network load_network(std::string_view name_or_path);

}  // namespace plumb
