#pragma once

#include <string>
#include <vector>

#include "sim/comparison/compare.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// One run of a page, or two that are compared: predicted and measured, or two schedules.
struct HtmlSection {
  std::string title = {};
  std::string note = {};             ///< such as the command that made it; may be empty
  const Timeline* first = nullptr;   ///< never null; must outlive the call
  const Timeline* second = nullptr;  ///< null when there is nothing to compare with
  /// The comparison of the two, such as one with a bound; null: it is made from `first` and `second` without a bound.
  const Comparison* comparison = nullptr;
};

struct HtmlReport {
  std::string title = {};
  std::string note = {};
  std::vector<HtmlSection> sections = {};
};

}  // namespace plumb
