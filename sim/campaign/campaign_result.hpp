#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/campaign/layout_steps.hpp"
#include "sim/campaign/node_trace.hpp"

namespace plumb {

/// What the time of a job goes into. Every moment of a campaign belongs to one of them.
enum class TimeUse : std::uint8_t {
  kTraining,       ///< steps that count, as long as they take undisturbed
  kSlowed,         ///< what these steps took longer: nodes that stand in for others, slow nodes
  kLost,           ///< steps whose result was lost with a node
  kCheckpointing,  ///< saving what has been reached
  kReconfiguring,  ///< stopped while nodes agree on a layout, start, load and copy
  kWaiting,        ///< stopped because too few nodes are there
};
inline constexpr std::array<std::string_view, 6> kTimeUseNames{"training",      "slowed",        "lost",
                                                               "checkpointing", "reconfiguring", "waiting"};

/// A stretch of time of one use in one layout. Steps that were slowed are phases of that use as a whole.
struct CampaignPhase {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  TimeUse use = TimeUse::kWaiting;
  JobLayout layout;  ///< none while there was none

  friend bool operator==(const CampaignPhase&, const CampaignPhase&) = default;
};

/// How many nodes were there from a moment on.
struct NodeCount {
  std::int64_t at_ns = 0;
  std::int32_t nodes = 0;
};

/// A job over hours or days, while nodes come and go.
struct CampaignProblem {
  NodeTrace trace;
  std::int64_t until_ns = 0;
  std::int64_t ready_ns = 0;                        ///< from a node's coming to its being ready
  double price_per_node_hour = 0;                   ///< price of every node that is there, ready or not
  std::map<std::string, std::string> options = {};  ///< options of the rule
  bool keep_phases = true;
};

struct CampaignResult {
  std::array<std::int64_t, kTimeUseNames.size()> time_ns{};  ///< by use; adds up to `until_ns`
  std::int64_t until_ns = 0;
  std::int64_t steps = 0;  ///< number of steps that count
  double samples = 0;      ///< samples of these steps
  double undisturbed = 0;  ///< samples of the same ready nodes, always in the best layout, without any pause
  double node_hours = 0;
  double cost = 0;
  std::int32_t most_nodes = 0;
  std::int64_t removals = 0;        ///< nodes that went
  std::int64_t fatal = 0;           ///< losses that threw the job back to what had been saved, or stopped it
  std::int64_t recoveries = 0;      ///< times that the job took a new layout or started again, the first included
  std::int32_t frozen_layers = 0;   ///< at the end, by a rule that freezes some
  std::int64_t first_step_ns = -1;  ///< when the first step began; -1: none did
  std::int64_t last_step_ns = -1;   ///< when the last step that was finished ended
  double samples_to_last_step = 0;  ///< samples of the steps that are finished
  /// Samples of every finished step over the mean nodes since the step before ended; of the first step since it began.
  double samples_per_node = 0;
  std::vector<CampaignPhase> phases;  ///< in order, without gaps; empty unless kept
  std::vector<NodeCount> nodes;       ///< at every change

  std::int64_t time_of(TimeUse use) const { return time_ns[static_cast<std::size_t>(use)]; }
  double hours() const { return static_cast<double>(until_ns) / 3.6e12; }
  double samples_per_s() const { return until_ns > 0 ? samples * 1e9 / static_cast<double>(until_ns) : 0; }
  /// Returns the share of what the same nodes would have done undisturbed.
  double goodput() const { return undisturbed > 0 ? samples / undisturbed : 0; }
  double samples_per_cost() const { return cost > 0 ? samples / cost : 0; }
};

}  // namespace plumb
