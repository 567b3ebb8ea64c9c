#pragma once

#include "models/network/network.hpp"

namespace plumb {

/// Throws `Error` when the layers of `network` do not fit together: no layers, widths that do not meet, an embedding
/// that is not first, a head before the end, a tied head without its embedding, heads that do not divide, names used
/// twice.
void check_network(const Network& network);

/// Throws `Error` when the heads of attention do not divide its width, or each other.
void check_heads(const LayerSpec& attention);

/// Throws `Error` when one microbatch of `shape` is too large to count its bytes and FLOPs in 64 bits.
void check_shape(const Network& network, const MicrobatchShape& shape);

}  // namespace plumb
