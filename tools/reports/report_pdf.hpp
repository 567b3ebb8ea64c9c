#pragma once

#include <string>

#include "sim/timeline/timeline.hpp"
#include "tools/reports/picture_style.hpp"

namespace plumb {

/// Returns the compute lanes as a PDF of one page as large as the picture, for papers: a row per device, a box per
/// action with its microbatch where it fits, idle time hatched by cause, a time axis and a legend. 16 cm wide without a
/// style; text in Helvetica, which every reader has; ASCII throughout. A timeline of any length gives a picture of
/// bounded size: what is narrower than a hair is merged. Format: ISO 32000-1.
std::string pdf_report(const Timeline& timeline, const PictureStyle& style = {});

}  // namespace plumb
