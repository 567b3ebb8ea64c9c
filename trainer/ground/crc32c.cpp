#include "trainer/ground/crc32c.hpp"

#include <array>
#include <cstring>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace plumb {
namespace {

constexpr std::uint32_t kReversedPolynomial = 0x82F63B78U;
constexpr std::size_t kSlices = 8;  ///< bytes per turn of the loop

using SliceTables = std::array<std::array<std::uint32_t, 256>, kSlices>;

/// tables[n][b]: what the byte b does to the checksum when n bytes follow it.
constexpr SliceTables make_slice_tables() {
  SliceTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? kReversedPolynomial : 0U);
    tables[0][byte] = rest;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t rest = tables[slice - 1][byte];
      tables[slice][byte] = (rest >> 8U) ^ tables[0][rest & 0xFFU];
    }
  }
  return tables;
}

constexpr SliceTables kSliceTables = make_slice_tables();

/// Returns the checksum's register after eight more bytes.
std::uint32_t after_word(std::uint32_t rest, std::uint64_t word) {
#ifdef __SSE4_2__
  return static_cast<std::uint32_t>(_mm_crc32_u64(rest, word));
#else
  word ^= rest;
  rest = 0;
  for (std::size_t at = 0; at < kSlices; ++at) {
    rest ^= kSliceTables[kSlices - 1 - at][(word >> (8 * at)) & 0xFFU];
  }
  return rest;
#endif
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t rest = ~before;
  for (; bytes.size() >= kSlices; bytes = bytes.subspan(kSlices)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), kSlices);
    rest = after_word(rest, word);
  }
  for (const std::byte byte : bytes) {
    rest = (rest >> 8U) ^ kSliceTables[0][(rest ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
  }
  return ~rest;
}

}  // namespace plumb
