#pragma once

#include <string>

#include "models/network/network.hpp"

namespace plumb {

/// The network that `--network` names. Keys of its configuration that nobody reads, though what the network computes
/// could depend on them, are noted (tools/terminal/notes.hpp). Throws `Error` for what cannot be read.
Network network_argument(const std::string& name_or_path);

}  // namespace plumb
