#pragma once

#include <string>
#include <string_view>

#include "sim/timeline/timeline.hpp"
#include "tools/reports/card.hpp"
#include "tools/reports/picture_style.hpp"

namespace plumb {

/// Returns the compute lanes as a PDF of one page as large as the picture, for papers (`draw_on_paper`). Text in
/// Helvetica, which every reader has; ASCII throughout. Format: ISO 32000-1.
std::string pdf_report(const Timeline& timeline, const PictureStyle& style = {});

/// The same of runs on one time axis. `title` is that of the reader's window.
std::string pdf_picture(const Card& card, const PictureStyle& style, std::string_view title);

}  // namespace plumb
