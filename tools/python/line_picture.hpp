#pragma once

#include <string>

namespace plumb {

/// The diagram of lines that `plot` describes as JSON, drawn as one SVG:
/// {"title", "note", "x": {"title", "logarithmic"}, "y", "series": [{"name", "x": [...], "y": [...], "low", "high",
/// "colour", "dashed", "points", "line", "region"}], "marks": [{"x", "y", "text"}]}. Null in `y` leaves a gap. Throws
/// `Error` with the place of what is wrong, and what `svg_plot` throws.
std::string line_picture(const std::string& plot);

}  // namespace plumb
