#pragma once

#include <string>

#include "sim/timeline/timeline.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {

struct TextTimelineOptions {
  int columns = 100;      ///< of the terminal
  int most_devices = 32;  ///< further devices are counted, not drawn
  bool colour = false;    ///< ANSI colours by op
  TimeWords times{};      ///< how the axis is told
};

/// The compute lanes of `timeline` drawn in characters, one row per device.
///
/// Where every start and end falls on a common grid, one cell per grid step, the first with the action's name; the
/// stage stands before it unless every device holds the one of its own number; two actions at once are joined by "&":
///
///   d0 | F0 F1 F2             B0 == F3 B1 ==    B2 ==    B3 == |
///
/// Where there is no such grid, or it is so fine that the cells do not fit, times are drawn in proportion:
///
///   d0 | F0 F1              B0==== B1==== |
///
/// What does not fit into the columns stands below, in up to 24 rows; more is cut at the right, and the last line says
/// how much. A whole drawing is read back by `schedule_from_text`. `timeline` must have spans.
std::string text_timeline(const Timeline& timeline, const TextTimelineOptions& options = {});

/// Whether `text_timeline` draws all of it in cells in so many columns.
bool is_drawn_in_cells(const Timeline& timeline, int columns);

}  // namespace plumb
