#pragma once

#include <string>
#include <vector>

#include "sim/comparison/compare.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// One run of a page, or two that are laid over each other: predicted and measured, or two schedules.
struct HtmlSection {
  std::string title = {};
  std::string note = {};             ///< e.g. the command that made it; may be empty
  const Timeline* first = nullptr;   ///< never null; must outlive the call
  const Timeline* second = nullptr;  ///< null when there is nothing to compare with
  /// Of the two, e.g. with a bound; null: made from `first` and `second` without one.
  const Comparison* comparison = nullptr;
};

struct HtmlReport {
  std::string title = {};
  std::string note = {};
  std::vector<HtmlSection> sections = {};
};

/// The report as one HTML file that needs no network: figures of all runs side by side, then per section the timeline
/// (zoom, pan, hover), memory by class, idle time by cause, and the comparison where there are two runs.
/// Same input, same bytes out. Throws `Error` above 4 million spans and points of memory curves, which browsers do not
/// hold.
std::string html_report(const HtmlReport& report);

}  // namespace plumb
