#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/options/plan_question.hpp"
#include "tools/plans/plan_commands.hpp"

namespace plumb {

/// "1f1b, pp 4, tp 2, dp 4, 8 microbatches of 2 samples, full recompute": one line.
std::string plan_line(const PipelinePlan& plan);

/// The price of a token (of a sample, where the network has no tokens), or its device-seconds without prices.
double plan_cost(const ScoredPlan& score, const PlanQuestion& question);

/// "1.2 price per million tokens".
std::string cost_line(const PlanQuestion& question, const ScoredPlan& score);

/// How many updates old the weights are that the plan computes with, and how many versions it keeps; empty for a
/// synchronous schedule.
std::string staleness_line(const PlanQuestion& question, const PipelinePlan& plan);

/// The best plan in words, its stages, the best few side by side, the Pareto-optimal plans, and the next commands.
std::string plan_answer_text(const PlanQuestion& question, const PlanAnswer& answer, const SimulatedPlan& best,
                             const PlanShown& shown);

/// Said when nothing fits: the closest plan, and by how many bytes it exceeds the memory of which device.
std::string nothing_fits_text(const PlanAnswer& answer);

/// How to run the plan: in the system that it is made for, or in all of them.
std::string plan_guide(const PlanQuestion& question, const SimulatedPlan& best, const PlanShown& shown);

/// {"format": "plumbline-plan-search", "version": 1, ...}.
std::string plan_answer_json(const PlanQuestion& question, const PlanAnswer& answer, const PlanShown& shown);

/// The best plans of `answer` on one page: their figures side by side, every timeline, each compared with the best one,
/// and why it is slower.
std::string plan_page(const PlanQuestion& question, const PlanAnswer& answer);

/// Where the time of `other` goes that `best` does not need, per device on average: computing, recomputing, each cause
/// of waiting; largest first.
std::string why_slower(const Timeline& best, const Timeline& other);

}  // namespace plumb
