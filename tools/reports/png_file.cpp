#include "tools/reports/png_file.hpp"

#include <cmath>
#include <cstdint>
#include <new>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace plumb {
namespace {

constexpr std::size_t kPixelBytes = 3;
constexpr unsigned char kDifferenceFromAbove = 2;  ///< a filter of the format; most rows of a drawing repeat

std::string four_bytes(std::uint32_t value) {
  return {static_cast<char>(value >> 24U), static_cast<char>(value >> 16U & 255U),
          static_cast<char>(value >> 8U & 255U), static_cast<char>(value & 255U)};
}

std::string chunk(std::string_view type, std::string_view data) {
  const std::string body = std::string(type) + std::string(data);
  const auto sum = crc32_z(0, reinterpret_cast<const unsigned char*>(body.data()), body.size());
  return four_bytes(static_cast<std::uint32_t>(data.size())) + body + four_bytes(static_cast<std::uint32_t>(sum));
}

/// The rows as they are packed: each begins with the number of its filter.
std::vector<unsigned char> filtered(std::size_t width, std::span<const unsigned char> pixels) {
  const std::size_t row = width * kPixelBytes;
  std::vector<unsigned char> bytes;
  bytes.reserve(pixels.size() + pixels.size() / row);
  for (std::size_t at = 0; at < pixels.size(); ++at) {
    if (at % row == 0) bytes.push_back(kDifferenceFromAbove);
    bytes.push_back(static_cast<unsigned char>(pixels[at] - (at < row ? 0 : pixels[at - row])));
  }
  return bytes;
}

std::string packed(const std::vector<unsigned char>& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string data(size, '\0');
  if (compress2(reinterpret_cast<unsigned char*>(data.data()), &size, bytes.data(), bytes.size(), 6) != Z_OK) {
    throw std::bad_alloc();  // nothing else can fail: there is room enough
  }
  data.resize(size);
  return data;
}

}  // namespace

std::string png_file(std::size_t width, std::size_t height, std::span<const unsigned char> pixels,
                     double dots_per_inch) {
  const std::string size =
      four_bytes(static_cast<std::uint32_t>(width)) + four_bytes(static_cast<std::uint32_t>(height));
  const std::string per_meter = four_bytes(static_cast<std::uint32_t>(std::lround(dots_per_inch / 0.0254)));
  using namespace std::string_view_literals;
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", size + std::string("\x08\x02\0\0\0"sv)) +
         chunk("pHYs", per_meter + per_meter + '\1') + chunk("IDAT", packed(filtered(width, pixels))) +
         chunk("IEND", "");
}

}  // namespace plumb
