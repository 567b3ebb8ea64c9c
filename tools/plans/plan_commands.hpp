#pragma once

#include <string>

#include "sim/plan_search/placed_schedule.hpp"
#include "tools/options/plan_search_arguments.hpp"
#include "tools/plans/plan_search_text.hpp"

namespace plumb {

/// A command that can be copied, or why there is none.
struct PlanCommand {
  std::string text{};
  std::string refused{};  ///< why it cannot be said; empty: `text` is it
};

/// The `plumbline simulate` that takes the step of `plan`, with its peak and verdict. By the name of its schedule where
/// that makes the same lists, otherwise from the document `shown.document`.
PlanCommand simulate_command(const PlanQuestion& question, const SimulatedPlan& plan, const PlanShown& shown);

/// The launch of `plan` by Megatron-LM's pretrain_gpt.py: every option that decides its network, ranks and pipeline.
PlanCommand megatron_command(const PlanQuestion& question, const SimulatedPlan& plan);

}  // namespace plumb
