#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// Simulated plans, in a fixed order.
struct SeedScores {
  std::vector<ScoredPlan> scores{};
  std::int64_t simulated = 0;
};

/// `seeds` simulated, each once; those that cannot be are left out. Of the best with replicated stages, plans nearby
/// are simulated too, and so on from the best of these while steps get shorter: a layer or a holder given from one
/// stage to another, two neighbouring stages made one, one made two. At most `effort.most_simulations` besides the
/// seeds, and until `effort.stop_seeds`.
SeedScores seed_scores(const PlanJob& job, const std::vector<PipelinePlan>& seeds, const PlanEffort& effort);

}  // namespace plumb
