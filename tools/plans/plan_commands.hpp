#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/plan_search/placed_schedule.hpp"
#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// How the answer is shown.
struct PlanShown {
  std::string document = "plan.json";  ///< where the schedule is written; empty: nowhere
  bool written = false;                ///< it is
  std::string network{};               ///< as the user named them
  std::string cluster{};
  /// Options of the user that a simulation must repeat, and their values: "--sequence", "4096".
  std::vector<std::pair<std::string, std::string>> repeated{};
};

/// A command that can be copied, or why there is none.
struct PlanCommand {
  std::string text{};
  std::string refused{};  ///< why it cannot be said; empty: `text` is it
  std::string note{};     ///< what the system does otherwise, by little; empty: nothing
};

/// The `plumbline simulate` that takes the step of `plan`, with its peak and verdict. By the name of its schedule where
/// that makes the same lists, otherwise from the document `shown.document`.
PlanCommand simulate_command(const PlanQuestion& question, const SimulatedPlan& plan, const PlanShown& shown);

/// The launch of `plan` by Megatron-LM's pretrain_gpt.py: every option that decides its network, ranks and pipeline.
PlanCommand megatron_command(const PlanQuestion& question, const SimulatedPlan& plan);

}  // namespace plumb
