#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/ground/named_option.hpp"
#include "sim/campaign/campaign_result.hpp"

namespace plumb {

class CampaignRun;

/// A node that is there.
struct CampaignNode {
  std::int32_t id = 0;  ///< number of the node in the trace
  std::int64_t since_ns = 0;
  bool ready = false;
  bool used = false;  ///< works in the layout
  double factor = 1;  ///< how much longer its work takes
};

/// Timers of a rule. If two end in one moment, the first one comes first.
enum class CampaignTimer : std::uint8_t { kFirst, kSecond };

/// How a system answers to what happens: a function for each kind of event, of which a rule writes those that matter to
/// it. What happens in one moment comes in the order below. One object plays one campaign.
class CampaignRule {
 public:
  CampaignRule() = default;
  CampaignRule(const CampaignRule&) = delete;
  CampaignRule& operator=(const CampaignRule&) = delete;
  virtual ~CampaignRule() = default;

  /// Called once before all events.
  virtual void start(CampaignRun&) {}
  /// The work of `node` takes `node.factor` times as long from now on.
  virtual void slowed(const CampaignNode& /*node*/, CampaignRun&) {}
  /// `node` as it was before it went.
  virtual void removed(const CampaignNode& /*node*/, CampaignRun&) {}
  virtual void became_ready(const CampaignNode& /*node*/, CampaignRun&) {}
  /// `CampaignRun::pause` is over, and nothing else was begun meanwhile.
  virtual void pause_over(CampaignRun&) {}
  /// Answers to a timer of `CampaignRun::set_timer`.
  virtual void timer(CampaignTimer /*which*/, std::int64_t /*number*/, CampaignRun&) {}
  virtual void step_done(CampaignRun&) {}
};
using CampaignRulePtr = std::unique_ptr<CampaignRule>;

/// How a system answers to nodes that come and go, by name. Its source `<name>_rule.cpp` has its options and makes it.
struct CampaignRuleSpec {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::span<const NamedOption> options;
  CampaignRulePtr (*make)(const CampaignProblem& problem, const OptionReader& options, LayoutBook& book) = nullptr;
  std::string_view changes_job = "";  ///< why its samples are not those of the others; empty: they are
};

// Values of the options of rules.
inline constexpr double kMostRuleNumber = 1e9;
inline constexpr OptionForm kRulePause = number_form("S", 0, kMostRuleNumber);   ///< seconds in which work stands still
inline constexpr OptionForm kRulePeriod = number_form("T", 0, kMostRuleNumber);  ///< seconds from one time to the next
constexpr OptionForm rule_number(std::string_view stands_for, double least = 0) {
  return number_form(stands_for, least, kMostRuleNumber);
}
constexpr OptionForm rule_count(std::string_view stands_for, double least) {
  return count_form(stands_for, least, kMostRuleNumber);
}
/// Option of rules that go on while they save.
inline constexpr NamedOption kSavesBesideOption{"every", kRulePeriod, 600, "seconds of work between checkpoints",
                                                "they are written beside it"};
/// Option of rules whose pipelines are as long as those of the best layout (`usual_stages`).
inline constexpr NamedOption kPipelineStagesOption{
    "stages", rule_count("P", 1), "those of the best layout for the mean of the trace", "stages of every pipeline"};

/// Returns the seconds as nanoseconds.
std::int64_t option_ns(const OptionReader& options, std::string_view name);
/// Returns an option that counts nodes, stages or layers, whose default depends on the job.
std::int32_t option_count(const OptionReader& options, std::string_view name, std::int32_t otherwise);

/// Returns the mean number of nodes of the trace, rounded down, at least 1: what a layout that never changes is made
/// for.
std::int32_t usual_nodes(const CampaignProblem& problem);
/// Returns the stages of the layout that the job is made for on these nodes (`LayoutBook::made_for`); the shortest
/// pipelines of the source where it has no layout.
std::int32_t usual_stages(const CampaignProblem& problem, LayoutBook& book);

/// Returns how many of `tasks` each peer of a pool gets: every task goes to the peer that is expected to be free first,
/// of equal ones the first (the released code's queue, github.com/yandex-research/swarm). `task_times`: what one task
/// takes on each.
std::vector<std::int64_t> routed_tasks(std::span<const double> task_times, std::int64_t tasks);

}  // namespace plumb
