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

/// "best plan: 6.682 s a step, 78462 tokens/s, fits (63.34 GiB of 79.11 GiB)".
std::string plan_verdict(const PlanQuestion& question, const ScoredPlan& best);

/// The best plan in words, its stages, the best few side by side, and the Pareto-optimal plans.
std::string plan_answer_text(const PlanQuestion& question, const PlanAnswer& answer, const SimulatedPlan& best);

/// The last lines: the command that simulates the best plan again; where its schedule is not written yet, `asked`, the
/// command that the plan answers, with the file to write.
std::string plan_next(const PlanQuestion& question, const SimulatedPlan& best, const PlanFile& file,
                      const std::string& asked);

/// Said when nothing fits: the closest plan, and by how many bytes it exceeds the memory of which device.
std::string nothing_fits_text(const PlanAnswer& answer);

/// How to run the plan: in the system that it is made for, or in all of them.
std::string plan_guide(const PlanQuestion& question, const SimulatedPlan& best, const PlanFile& file);

/// {"format": "plumbline-plan-search", "version": 1, ...}.
std::string plan_answer_json(const PlanQuestion& question, const PlanAnswer& answer, const PlanFile& file);

/// The best plans of `answer` on one page: their figures side by side, every timeline, each compared with the best one,
/// and why it is slower.
std::string plan_page(const PlanQuestion& question, const PlanAnswer& answer);

/// Where the time of `other` goes that `best` does not need, per device on average: computing, recomputing, each cause
/// of waiting; largest first.
std::string why_slower(const Timeline& best, const Timeline& other);

}  // namespace plumb
