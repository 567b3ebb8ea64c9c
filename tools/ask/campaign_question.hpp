#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/campaign/campaign.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "tools/campaign/campaign_answer.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

/// A job over hours or days while nodes come and go. Every member has the default of the option that fills it.
struct CampaignQuestion {
  static constexpr const char* kUsage = "campaign [NAME|FILE] [options]";

  std::vector<std::string> names;  ///< one schedule, or none with `layouts`
  std::string trace;
  // One of these, or one of `rule_options`, may name several values: "2,6,24", "2..32" (doubled from one to the next).
  std::string mtbf;
  std::string nodes;
  std::string hours;
  std::string ready;
  std::string price;
  std::string market;  ///< "0.25,0.5": taken, given
  std::optional<double> interval_seconds;
  std::optional<std::int64_t> seed;
  std::optional<std::int64_t> runs;
  std::string rules;
  std::vector<std::string> rule_options;  ///< "key=value" or "rule.key=value"
  std::string layouts;
  std::string lengths;
  ScheduleArguments size;
  CostArguments costs;
  RunRules messages;

  /// Declares the options; this object must outlive the table.
  void add_to(OptionTable& options);

  /// Plays every rule on the nodes of every seed. Throws `Error` for what is missing, unknown or contradictory, and
  /// where the job runs in no layout.
  CampaignAnswer answer() const;
  /// Whether an option names several values. Throws `Error` where two do, and for what is no number.
  bool is_sweep() const;
  /// The answers for all values of that option.
  CampaignSweep sweep() const;

 private:
  /// What is asked of one campaign: numbers and options of rules, read.
  struct Values;

  /// Of an option that names several values the first one.
  Values values() const;
  CampaignAnswer answer(const Values& values) const;
  /// The option that names several values, with them; no answers. None: all name one at most.
  std::optional<CampaignSweep> swept() const;
  NodeTrace nodes_of(const Values& values, std::uint64_t seed_of_run, std::int64_t until_ns) const;
  /// One for every seed.
  std::vector<CampaignProblem> problems(const Values& values) const;
  std::unique_ptr<LayoutSource> source_of(std::int32_t most_nodes) const;
  std::string job_text() const;
  std::string nodes_text(const Values& values) const;
};

/// A record of nodes by name (`trace_presets`) or file. Throws `Error`.
NodeTrace load_node_trace(const std::string& name_or_file);
/// Published steps of layouts by name (`layout_presets`) or file. Throws `Error`.
std::map<JobLayout, LayoutTable::Row> load_layouts(const std::string& name_or_file);

}  // namespace plumb
