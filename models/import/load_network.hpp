#pragma once

#include <string_view>

#include "models/network/network.hpp"

namespace plumb {

/// Returns the built-in network that people call `name`, "Llama-3.1-70B-Instruct" or "gpt2"; empty: none. Capital
/// letters, dashes, underscores and blanks do not matter. Where a family's versions have layers of the same sizes
/// (Llama 3 and 3.1 of 8 and 70 thousand million parameters), one stands for all.
std::string_view builtin_network_called(std::string_view name);

/// Returns a built-in network, or the document at a path (anything with a '/' or ending in ".json" or ".txt"): ours, or
/// one that others publish (models/import/published_network.hpp), laid out as a chain of profiled layers, or that of
/// the job of a launch script or configuration (.sh, .slurm, .toml, .yaml). Throws `Error` for unknown names, with the
/// nearest one.
Network load_network(std::string_view name_or_path);

}  // namespace plumb
