#pragma once

#include <string>

#include "sim/timeline/timeline.hpp"
#include "tools/reports/picture_style.hpp"

namespace plumb {

/// The compute lanes as a `tikzpicture` for `\input` in a LaTeX document that loads tikz: a row per device, a box per
/// action with its microbatch where it fits, a time axis.
/// A timeline of any length gives a picture of bounded size: what is narrower than a hair is merged.
std::string tikz_report(const Timeline& timeline, const PictureStyle& style = {});

}  // namespace plumb
