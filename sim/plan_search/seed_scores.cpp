#include "sim/plan_search/seed_scores.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/error.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_cuts.hpp"
#include "sim/plan_search/plan_kinds.hpp"

namespace plumb {
namespace {

/// Plans with replicated stages from which others are sought.
constexpr std::size_t kStarts = 4;
constexpr std::int64_t kMostNear = 4000;

/// Layers of stages [first, first + old) cut at `bounds` instead, held by `replicas`.
PipelinePlan with_stages(const PipelinePlan& plan, std::size_t first, std::size_t old,
                         const std::vector<std::size_t>& inner_bounds, const std::vector<std::int32_t>& replicas) {
  PipelinePlan near = plan;
  const auto at = [first](auto& list, std::size_t offset) {
    return list.begin() + static_cast<std::ptrdiff_t>(first + offset);
  };
  near.partition.bounds.erase(at(near.partition.bounds, 1), at(near.partition.bounds, old));
  near.partition.bounds.insert(at(near.partition.bounds, 1), inner_bounds.begin(), inner_bounds.end());
  near.replicas.erase(at(near.replicas, 0), at(near.replicas, old));
  near.replicas.insert(at(near.replicas, 0), replicas.begin(), replicas.end());
  return near;
}

void add_moved_holders(const PipelinePlan& plan, std::vector<PipelinePlan>& near) {
  for (std::size_t from = 0; from < plan.replicas.size(); ++from) {
    for (std::size_t to = 0; to < plan.replicas.size() && plan.replicas[from] > 1; ++to) {
      if (to == from) continue;
      PipelinePlan moved = plan;
      --moved.replicas[from];
      ++moved.replicas[to];
      near.push_back(std::move(moved));
    }
  }
}

/// A stage cut in two at any layer, its holders shared in proportion to the layers, and one fewer or more.
void add_split(const PipelinePlan& plan, std::size_t s, std::vector<PipelinePlan>& near) {
  const LayerRange range = plan.partition.range(s);
  const std::int32_t holders = plan.replicas[s];
  const std::size_t layers = range.end - range.begin;
  const std::size_t stride = std::max<std::size_t>(1, layers / 16);
  for (std::size_t cut = range.begin + 1; holders > 1 && cut < range.end; cut += stride) {
    const auto even = static_cast<std::int32_t>(static_cast<std::size_t>(holders) * (cut - range.begin) / layers);
    for (std::int32_t front = std::max(1, even - 1); front <= std::min(holders - 1, even + 1); ++front) {
      near.push_back(with_stages(plan, s, 1, {cut}, {front, holders - front}));
    }
  }
}

std::vector<PipelinePlan> plans_near(const PipelinePlan& plan) {
  std::vector<PipelinePlan> near;
  add_moved_holders(plan, near);
  for (Partition& cut : near_cuts(plan.partition, {})) {
    near.push_back(plan);
    near.back().partition = std::move(cut);
  }
  for (std::size_t s = 0; s < plan.replicas.size(); ++s) {
    add_split(plan, s, near);
    if (s + 1 == plan.replicas.size()) continue;
    near.push_back(with_stages(plan, s, 2, {}, {plan.replicas[s] + plan.replicas[s + 1]}));
  }
  return near;
}

class SeedSearch {
 public:
  SeedSearch(const PlanJob& job, const PlanEffort& effort) : job_(job), effort_(effort) {}

  SeedScores run(const std::vector<PipelinePlan>& seeds) {
    std::vector<ScoredPlan> starts = score(seeds);
    std::erase_if(starts, [](const ScoredPlan& plan) { return plan.plan.replicas.empty(); });
    std::sort(starts.begin(), starts.end(), better_plan);
    if (starts.size() > kStarts) starts.resize(kStarts);
    for (const ScoredPlan& start : starts) climb(start);
    return std::move(found_);
  }

 private:
  bool ended() const { return found_.simulated >= std::min(effort_.most_simulations, kMostNear) || stopped(); }

  bool stopped() const {
    const std::function<bool()>& stop = effort_.stop_seeds ? effort_.stop_seeds : effort_.stop;
    return stop && stop();
  }

  void climb(ScoredPlan at) {
    while (!ended()) {
      const std::vector<ScoredPlan> near = score(plans_near(at.plan));
      const auto best = std::min_element(near.begin(), near.end(), better_plan);
      if (best == near.end() ||
          std::tuple(best->excess_bytes, best->step_ns) >= std::tuple(at.excess_bytes, at.step_ns))
        return;
      at = *best;
    }
  }

  /// Those that are new, and can be.
  std::vector<ScoredPlan> score(const std::vector<PipelinePlan>& plans) {
    std::vector<const PipelinePlan*> fresh;
    for (const PipelinePlan& plan : plans) {
      if (is_new(plan)) fresh.push_back(&plan);
    }
    std::vector<std::optional<ScoredPlan>> scores(fresh.size());
    tbb::parallel_for(std::size_t{0}, fresh.size(), [&](std::size_t at) {
      if (stopped()) return;
      try {
        scores[at] = simulate_plan(*fresh[at], job_.price).score;
      } catch (const Error&) {  // a plan of somebody else that cannot be here
      }
    });
    std::vector<ScoredPlan> all;
    for (std::optional<ScoredPlan>& one : scores) {
      if (!one) continue;
      ++found_.simulated;
      found_.scores.push_back(*one);
      all.push_back(std::move(*one));
    }
    return all;
  }

  bool is_new(const PipelinePlan& plan) {
    return seen_.insert({plan_kind(plan), plan.partition.bounds, plan.order}).second;
  }

  const PlanJob& job_;
  const PlanEffort& effort_;
  std::set<std::tuple<PlanKind, std::vector<std::size_t>, std::vector<std::int32_t>>> seen_;
  SeedScores found_;
};

}  // namespace

SeedScores seed_scores(const PlanJob& job, const std::vector<PipelinePlan>& seeds, const PlanEffort& effort) {
  return SeedSearch(job, effort).run(seeds);
}

}  // namespace plumb
