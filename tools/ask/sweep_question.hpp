#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/runtimes/run_rules.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/sweep_grid.hpp"
#include "tools/sweep/sweep_run.hpp"

namespace plumb {

/// Schedules over ranges of sizes. Every member has the default of the option that fills it.
struct SweepQuestion {
  static constexpr const char* kUsage = "sweep [NAME]... -p RANGE -m RANGE [options]";

  std::vector<std::string> schedules;
  bool all = false;  ///< 'all' schedules are really all
  std::string devices;
  std::string microbatches;
  std::string chunks;
  std::optional<std::int64_t> updates;
  std::vector<std::string> options;
  CostArguments costs;
  JobRanges jobs;
  RunRules rules;
  std::optional<std::int64_t> runs;

  /// Declares what the points are; this object must outlive the table.
  void add_points_to(OptionTable& table);
  /// Declares what they cost and how messages travel.
  void add_costs_to(OptionTable& table);

  /// All points, with the costs that textbooks draw where none are given. Throws `Error` for what is missing.
  std::vector<SweepPoint> points();
  /// What they share, with the documents that their costs come from. Throws `Error` for costs that no point could use,
  /// and for several runs that would all be equal.
  SweepPlan plan(const std::vector<SweepPoint>& points, bool keep_timelines) const;
};

}  // namespace plumb
