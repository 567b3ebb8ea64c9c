#pragma once

#include <string>

#include "tools/reports/plot.hpp"

namespace plumb {

/// Returns the plot as one SVG that follows the reader's light or dark theme. Same input, same bytes out. Throws
/// `Error` when a logarithmic axis has nothing above 0, or no series has a value.
std::string svg_plot(const Plot& plot);

}  // namespace plumb
