#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plumb {

/// Text on light fills; on dark ones it is white.
inline constexpr std::string_view kDarkInk = "#101821";

/// Relative luminance of "#rrggbb", from 0 (black) to 1 (white). Source: WCAG 2.2, "relative luminance".
double relative_luminance(std::string_view colour);

/// Returns how far two colours are apart in brightness, from 1 (not at all) to 21. Text needs 4.5 to be read easily.
/// Source: WCAG 2.2, "contrast ratio".
double contrast_ratio(std::string_view one, std::string_view other);

/// `colour`, lighter with every `level`: tells the chunks and replicas of a device apart. From level 3 on all are
/// equal.
std::string shaded(std::string_view colour, std::size_t level);

/// Returns whether white text reads better on `colour` than `kDarkInk`.
bool wants_light_text(std::string_view colour);

}  // namespace plumb
