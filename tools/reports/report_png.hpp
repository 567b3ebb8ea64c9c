#pragma once

#include <string>
#include <string_view>

#include "sim/timeline/timeline.hpp"
#include "tools/reports/card.hpp"
#include "tools/reports/picture_style.hpp"

namespace plumb {

/// Returns the picture of `pdf_report` as PNG, for slides and documents that take no other: 300 dots an inch, fewer
/// where that would be more than 64 million. Its letters are strokes that come with AGG, the library that draws it, so
/// it needs no fonts. Throws `Error` in a program that was built without it (`why_no_png`).
std::string png_report(const Timeline& timeline, const PictureStyle& style = {});

/// The same of runs on one time axis.
std::string png_picture(const Card& card, const PictureStyle& style);

/// Returns why this program writes no PNG; empty: it does.
std::string_view why_no_png();

}  // namespace plumb
