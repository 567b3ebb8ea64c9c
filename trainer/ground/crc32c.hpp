#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plumb {

/// Returns the checksum CRC-32C (Castagnoli's polynomial; RFC 3720, section 12.1) of `bytes`. `before` is the checksum
/// of what stands before them, so that a text can come in pieces. It notices every change of up to 32 bits in a row.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace plumb
