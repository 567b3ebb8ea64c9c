#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// Smallest and largest width of a picture: from half a column to a poster.
inline constexpr double kLeastPictureCm = 6;
inline constexpr double kMostPictureCm = 120;

/// How a picture looks on paper. Text keeps its size whatever the width.
struct PictureStyle {
  std::optional<double> width_cm{};  ///< none: as wide as the format likes
  std::string caption{};             ///< under the picture; empty: none
};

/// `text` in lines of at most `length` characters, broken at blanks. A word that is longer has a line of its own.
std::vector<std::string> wrapped_text(std::string_view text, std::size_t length);

}  // namespace plumb
