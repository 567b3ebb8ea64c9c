#pragma once

#include <string>

#include "sim/timeline/timeline.hpp"
#include "tools/reports/card.hpp"
#include "tools/reports/picture_style.hpp"

namespace plumb {

/// Returns the timeline as one SVG picture that needs nothing else: a row per device, a thin row for its transfers,
/// idle time hatched, microbatch numbers where they fit. Follows the reader's light or dark theme. A timeline of any
/// length gives a picture of bounded size: what is narrower than half a pixel is merged.
std::string svg_report(const Timeline& timeline, const PictureStyle& style = {});

/// Returns runs on one time axis (`draw_on_paper`). Without a width the picture is as wide as its place.
std::string svg_picture(const Card& card, const PictureStyle& style = {});

}  // namespace plumb
