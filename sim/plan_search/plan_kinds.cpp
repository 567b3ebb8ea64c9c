#include "sim/plan_search/plan_kinds.hpp"

#include <set>
#include <utility>

namespace plumb {

PlanKind plan_kind(const PipelinePlan& plan) {
  const Parallelism& job = plan.parallelism;
  std::vector<std::int64_t> degrees{job.tensor,
                                    job.sequence_parallel ? 0 : 1,
                                    job.context,
                                    job.expert,
                                    job.data,
                                    static_cast<std::int64_t>(job.zero),
                                    job.zero_by_layer ? 1 : 0,
                                    job.offload_by_stage ? 1 : 0,
                                    static_cast<std::int64_t>(job.recompute),
                                    job.microbatch_size,
                                    plan.copies()};
  degrees.insert(degrees.end(), job.tensor_by_place.begin(), job.tensor_by_place.end());
  return {std::move(degrees), plan.places, plan.schedule, plan.chunks, plan.replicas};
}

PlanFamily plan_family(const PipelinePlan& plan) {
  const Parallelism& job = plan.parallelism;
  return {plan.schedule, plan.places, job.tensor, job.context, job.expert, job.tensor_by_place};
}

void keep_families(std::vector<ScoredPlan>& scores, std::int64_t most) {
  std::set<PlanFamily> families;
  std::erase_if(scores, [&](const ScoredPlan& score) {
    return std::ssize(families) >= most || !families.insert(plan_family(score.plan)).second;
  });
}

bool better_plan(const ScoredPlan& a, const ScoredPlan& b) {
  const auto key = [](const ScoredPlan& score) {
    return std::tuple(score.excess_bytes, score.step_ns, score.price_per_hour, score.plan.num_devices(),
                      score.peak_bytes);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  const auto choices = [](const ScoredPlan& score) {
    return std::tuple(plan_kind(score.plan), score.plan.order, score.plan.partition.bounds, score.plan.shares);
  };
  return choices(a) < choices(b);
}

}  // namespace plumb
