#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/network/network.hpp"

namespace plumb {

/// Reads a network document (models/network/NETWORK_DOCUMENT.md). Repeats are expanded and layers named. Throws `Error`
/// with line, column and path for broken JSON, unknown kinds and keys, fields that a kind does not use, sizes out of
/// range, and layers that do not fit together (widths, a head before the end, a tied head without its embedding).
Network network_from_json(std::string_view text, std::string_view file_name);

/// Returns the document of `network`, one layer per line, without repeats. Reading it gives an equal network.
std::string network_to_json(const Network& network);

/// Returns the names of the built-in networks, sorted.
std::vector<std::string_view> builtin_networks();

}  // namespace plumb
