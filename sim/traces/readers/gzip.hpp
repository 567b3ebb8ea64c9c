#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

/// Returns whether `bytes` begin as a gzip file does (RFC 1952).
bool is_gzip(std::string_view bytes);

/// Returns what a gzip file holds, all of its members one after the other. `file_name` is only used in messages. Throws
/// `Error` when the file is damaged or cut off, or holds more than `most_bytes`.
std::string gunzip(std::string_view bytes, std::string_view file_name, std::uint64_t most_bytes);

}  // namespace plumb
