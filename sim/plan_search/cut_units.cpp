#include "sim/plan_search/cut_units.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace plumb {

Partition in_layers(const Partition& of_units, const std::vector<std::size_t>& units) {
  if (units.empty()) return of_units;
  Partition cut;
  for (const std::size_t bound : of_units.bounds) cut.bounds.push_back(units[bound]);
  return cut;
}

std::optional<Partition> in_units(const Partition& of_layers, const std::vector<std::size_t>& units) {
  if (units.empty()) return of_layers;
  Partition cut;
  for (const std::size_t bound : of_layers.bounds) {
    const auto unit = std::ranges::lower_bound(units, bound);
    if (unit == units.end() || *unit != bound) return std::nullopt;
    cut.bounds.push_back(static_cast<std::size_t>(unit - units.begin()));
  }
  return cut;
}

namespace {

std::shared_ptr<const std::vector<LayerLeast>> least_of_units(const std::vector<LayerLeast>& layers,
                                                              const std::vector<std::size_t>& units) {
  std::vector<LayerLeast> least(units.size() - 1);
  for (std::size_t unit = 0; unit + 1 < units.size(); ++unit) {
    for (std::size_t layer = units[unit]; layer < units[unit + 1]; ++layer) least[unit] += layers[layer];
  }
  return std::make_shared<const std::vector<LayerLeast>>(std::move(least));
}

}  // namespace

PlanJob job_of_units(const PlanJob& job) {
  if (job.units.empty()) return job;
  PlanJob in = job;
  in.units.clear();
  in.num_layers = job.units.size() - 1;
  in.price = [price = job.price, units = job.units](const Parallelism& parallelism, const Partition& partition,
                                                    std::int32_t places, const StageChoices& choices) {
    PricedStages stages = price(parallelism, in_layers(partition, units), places, choices);
    if (stages.least && partition.num_stages() + 1 == units.size()) stages.least = least_of_units(*stages.least, units);
    return stages;
  };
  if (job.only_cut) {
    in.only_cut = [cut = job.only_cut, units = job.units](std::size_t stages) {
      const std::optional<Partition> layers = cut(stages);
      return layers ? in_units(*layers, units) : std::nullopt;
    };
  }
  return in;
}

std::vector<PipelinePlan> in_units(const std::vector<PipelinePlan>& plans, const std::vector<std::size_t>& units) {
  std::vector<PipelinePlan> found;
  for (const PipelinePlan& plan : plans) {
    if (auto cut = in_units(plan.partition, units)) {
      found.push_back(plan);
      found.back().partition = *std::move(cut);
    }
  }
  return found;
}

PlanAnswer in_layers(PlanAnswer answer, const std::vector<std::size_t>& units) {
  const auto all = [&](std::vector<ScoredPlan>& scores) {
    for (ScoredPlan& score : scores) score.plan.partition = in_layers(score.plan.partition, units);
  };
  all(answer.best);
  all(answer.front);
  if (answer.closest) answer.closest->plan.partition = in_layers(answer.closest->plan.partition, units);
  return answer;
}

}  // namespace plumb
