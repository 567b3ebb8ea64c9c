#pragma once

#include <string>

#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"

namespace plumb {

/// The titles of the columns of a comparison. A prediction has an error, two schedules have a difference.
struct ComparedNames {
  std::string first = "first";
  std::string second = "second";
  std::string apart = "difference";
};

/// A comparison for a terminal: figures of both, what makes up the error, actions by kind, idle time by cause, memory
/// by class, the actions that differ most.
std::string comparison_text(const Comparison& comparison, const ComparedNames& names);

/// A row per configuration, and how many pairs are in the predicted order.
std::string ranking_text(const Ranking& ranking);

}  // namespace plumb
