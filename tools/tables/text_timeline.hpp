#pragma once

#include <string>

#include "sim/timeline/timeline.hpp"

namespace plumb {

struct TextTimelineOptions {
  int columns = 100;      ///< of the terminal
  int most_devices = 32;  ///< further devices are counted, not drawn
  bool colour = false;    ///< ANSI colours by op
};

/// The compute lanes of `timeline` drawn in characters, one row per device.
///
/// Where every start and end falls on a common grid that fits, one cell per grid step with the action's name; the
/// stage stands before it when a device holds several:
///
///   d0 | F0 F1 F2             B0 == F3 B1 ==    B2 ==    B3 == |
///
/// Of two actions that a device runs at once, the second one's name is in the second cell.
///
/// Otherwise each column stands for the same time and holds the letter of the op that fills most of it, or a blank.
/// `timeline` must have spans.
std::string text_timeline(const Timeline& timeline, const TextTimelineOptions& options = {});

/// Whether `text_timeline` draws cells with names in so many columns.
bool is_drawn_in_cells(const Timeline& timeline, int columns);

}  // namespace plumb
