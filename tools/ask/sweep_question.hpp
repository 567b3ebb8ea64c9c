#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/runtimes/run_rules.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/sweep/sweep_run.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

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
  GivenOptions given;  ///< for the command that comes next

  /// Declares the options; this object must outlive the table. `outputs`: `FileOptions`.
  void add_to(OptionTable& table, const FileOptions& outputs = {});

  /// All points, with the costs that textbooks draw where none are given. Throws `Error` for what is missing.
  std::vector<SweepPoint> points();
  /// What they share, with the documents that their costs come from. Throws `Error` for costs that no point could use,
  /// and for several runs that would all be equal.
  SweepPlan plan(const std::vector<SweepPoint>& points, bool keep_timelines) const;

  /// The table of `results`, what they say, and the command that shows the best of them.
  std::string text(const std::vector<SweepResult>& results) const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"csv", "text"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

}  // namespace plumb
