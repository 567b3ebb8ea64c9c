#pragma once

#include <cstdint>

#include "models/network/network.hpp"

namespace plumb {

/// Returns the rows of the tables of words: of the head. 0: the network has none.
std::int64_t vocabulary_rows(const Network& network);

/// `network` with so many rows in all tables that are as long as the head's: embeddings, head, further tokens. Systems
/// add rows until tensor ranks can divide them. Throws `Error` for a network without a head.
Network with_vocabulary_rows(Network network, std::int64_t rows);

}  // namespace plumb
