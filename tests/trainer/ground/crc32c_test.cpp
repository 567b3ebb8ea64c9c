#include "trainer/ground/crc32c.hpp"

#include <array>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

std::uint32_t crc32c_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

/// By its definition: the rest of a division of polynomials, a bit at a time.
std::uint32_t crc32c_by_bits(std::string_view text) {
  std::uint32_t rest = 0xFFFFFFFFU;
  for (const char letter : text) {
    rest ^= static_cast<unsigned char>(letter);
    for (int bit = 0; bit < 8; ++bit) rest = (rest & 1U) != 0 ? (rest >> 1U) ^ 0x82F63B78U : rest >> 1U;
  }
  return ~rest;
}

}  // namespace

TEST_CASE("CRC-32C gives the values of RFC 3720, appendix B.4") {
  std::string rising;
  for (char byte = 0; byte < 32; ++byte) rising += byte;
  const std::string falling(rising.rbegin(), rising.rend());
  constexpr std::array<unsigned char, 48> kReadCommand{0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
                                                       0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
                                                       0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0};
  CHECK(crc32c_of(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc32c_of(std::string(32, '\xff')) == 0x62A8AB43U);
  CHECK(crc32c_of(rising) == 0x46DD794EU);
  CHECK(crc32c_of(falling) == 0x113FDB5CU);
  CHECK(crc32c(std::as_bytes(std::span(kReadCommand))) == 0xD9963A56U);
  CHECK(crc32c_of("123456789") == 0xE3069283U);  // the check value of the catalogues of CRCs
}

TEST_CASE("CRC-32C of any length is that of its definition, in one piece or in two") {
  std::string text;
  for (int length = 0; length < 70; ++length) {
    CAPTURE(length);
    CHECK(crc32c_of(text) == crc32c_by_bits(text));
    const auto bytes = std::as_bytes(std::span(text));
    const std::size_t first = static_cast<std::size_t>(length) * 5 / 9;
    CHECK(crc32c(bytes.subspan(first), crc32c(bytes.first(first))) == crc32c_by_bits(text));
    text += static_cast<char>(length * 37 + 11);
  }
}

}  // namespace plumb

TEST_SUITE_END();
