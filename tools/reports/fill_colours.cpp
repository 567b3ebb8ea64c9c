#include "tools/reports/fill_colours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace plumb {
namespace {

/// Red, green or blue of "#rrggbb", from 0 to 255.
double channel(std::string_view colour, std::size_t c) {
  return static_cast<double>(std::stoul(std::string(colour.substr(1 + 2 * c, 2)), nullptr, 16));
}

}  // namespace

double relative_luminance(std::string_view colour) {
  constexpr std::array kWeights{0.2126, 0.7152, 0.0722};
  double luminance = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    const double value = channel(colour, c) / 255;
    luminance += kWeights[c] * (value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
  }
  return luminance;
}

double contrast_ratio(std::string_view one, std::string_view other) {
  const auto [dark, light] = std::minmax({relative_luminance(one), relative_luminance(other)});
  return (light + 0.05) / (dark + 0.05);
}

std::string shaded(std::string_view colour, std::size_t level) {
  const double towards_white = level == 0 ? 0 : std::min(0.12 + 0.18 * static_cast<double>(level), 0.66);
  std::array<char, 8> text{};
  std::array<unsigned, 3> rgb{};
  for (std::size_t c = 0; c < 3; ++c) {
    rgb[c] = static_cast<unsigned>(std::lround(channel(colour, c) * (1 - towards_white) + 255 * towards_white));
  }
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", rgb[0] & 0xFFU, rgb[1] & 0xFFU, rgb[2] & 0xFFU);
  return text.data();
}

bool wants_light_text(std::string_view colour) {
  return contrast_ratio("#ffffff", colour) > contrast_ratio(kDarkInk, colour);
}

}  // namespace plumb
