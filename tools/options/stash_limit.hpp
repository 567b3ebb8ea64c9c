#pragma once

#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/prediction/memory_fit.hpp"
#include "tools/options/cost_arguments.hpp"

namespace plumb {

/// Which part of 1/p of the model a stash of one stage belongs to; abstract memory per device is in these already.
double stash_share(const Schedule& schedule, const CostArguments& arguments);

/// The limit of `arguments` for a run of `schedule`, where not in bytes: in stashes of 1/p of the model, with
/// `per_stage` of one stage. Throws `Error` when it is no number.
MemoryLimit parse_memory_limit(const CostArguments& arguments, const StageCosts& costs, const Schedule& schedule);

}  // namespace plumb
