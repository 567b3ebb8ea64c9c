#pragma once

#include <string>

#include "models/network/network.hpp"

namespace plumb {

/// A network and what it was called: a built-in name or a file. Both outlive it.
struct NamedNetwork {
  const Network& network;
  const std::string& asked;
};

/// Throws `Error` with `message` about the layers of a network that was read: where they stand in the file of a
/// document, the file of another format, or the name of a built-in network.
[[noreturn]] void fail_at_layers(const NamedNetwork& named, const std::string& message);

}  // namespace plumb
