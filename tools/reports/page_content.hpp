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

}  // namespace plumb
