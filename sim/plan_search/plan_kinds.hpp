#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "sim/plan_search/pipeline_plan.hpp"

namespace plumb {

/// What makes two plans different in kind: degrees, length of the pipeline, schedule with its stages per place,
/// holders.
using PlanKind =
    std::tuple<std::vector<std::int64_t>, std::int32_t, std::string, std::int32_t, std::vector<std::int32_t>>;

PlanKind plan_kind(const PipelinePlan& plan);

/// What people call different plans: schedule, length of the pipeline, tensor, context and expert ranks.
using PlanFamily =
    std::tuple<std::string, std::int32_t, std::int64_t, std::int64_t, std::int64_t, std::vector<std::int32_t>>;
PlanFamily plan_family(const PipelinePlan& plan);

/// Keeps, of `scores`, the best first, the first of each family, at most `most`.
void keep_families(std::vector<ScoredPlan>& scores, std::int64_t most);

/// Which of two plans is better: one that fits, then by step, price, devices, peak, then by a fixed order of choices.
bool better_plan(const ScoredPlan& a, const ScoredPlan& b);

}  // namespace plumb
