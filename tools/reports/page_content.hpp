#pragma once

#include <optional>
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
  /// The comparison of the two, such as one with a bound; without it one is made from `first` and `second`.
  std::optional<Comparison> comparison = {};
  /// What to call the section in a choice of runs of one configuration, such as "step 1"; empty: it is no such run.
  std::string choice = {};
  bool chosen = true;  ///< shown at first, where there is a choice
};

struct HtmlReport {
  std::string title = {};
  std::string note = {};
  std::vector<HtmlSection> sections = {};
  std::string diagram = {};  ///< an SVG above all runs; empty: none
  std::string card = {};     ///< an SVG of all runs on one time axis; empty: none
  std::string advice = {};   ///< a document of `plumbline advise --json`; empty: none
};

}  // namespace plumb
