#include "sim/plan_search/seed_scores.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "sim/plan_search/fitted_plan.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_cuts.hpp"
#include "sim/plan_search/plan_kinds.hpp"

namespace plumb {
namespace {

/// Most plans with replicated stages from which others are sought.
constexpr std::size_t kStarts = 16;
/// Plans that are simulated at a time; fixed, so that the answer does not depend on the number of threads.
constexpr std::int64_t kAtOnce = 32;

/// Returns the layers of stages [first, first + old) cut at `bounds` instead, held by `replicas`.
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

/// Adds plans in which a stage gives one, two or four holders to another one.
void add_moved_holders(const PipelinePlan& plan, std::vector<PipelinePlan>& near) {
  for (std::size_t from = 0; from < plan.replicas.size(); ++from) {
    for (std::size_t to = 0; to < plan.replicas.size() && plan.replicas[from] > 1; ++to) {
      if (to == from) continue;
      for (std::int32_t count = 1; count <= 4 && count < plan.replicas[from]; count *= 2) {
        PipelinePlan moved = plan;
        moved.replicas[from] -= count;
        moved.replicas[to] += count;
        near.push_back(std::move(moved));
      }
    }
  }
}

/// Adds plans whose cuts are moved by several layers; `near_cuts` moves them by one.
void add_moved_cuts(const PipelinePlan& plan, std::vector<PipelinePlan>& near) {
  const std::vector<std::size_t>& bounds = plan.partition.bounds;
  for (std::size_t s = 1; s + 1 < bounds.size(); ++s) {
    for (const std::size_t layers : {3U, 10U, 30U}) {
      for (const bool forward : {false, true}) {
        PipelinePlan moved = plan;
        moved.partition.bounds[s] += forward ? layers : 0 - layers;
        if (forward ? bounds[s] + layers >= bounds[s + 1] : bounds[s] <= bounds[s - 1] + layers) continue;
        near.push_back(std::move(moved));
      }
    }
  }
}

/// Adds plans with a stage cut in two, its holders shared in proportion to the layers, and one fewer or more.
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

/// Lists the neighbours of a plan: other holders, other cuts, a stage more or fewer.
std::vector<PipelinePlan> plans_near(const PipelinePlan& plan) {
  std::vector<PipelinePlan> near;
  add_moved_holders(plan, near);
  add_moved_cuts(plan, near);
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

}  // namespace

std::vector<PlanTrial> tried_here(std::size_t count, const std::function<PlanTrial(std::size_t)>& work) {
  std::vector<PlanTrial> trials(count);
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t at) { trials[at] = work(at); });
  return trials;
}

/// Orders places so that holder h of every stage is in node h modulo the nodes, as far as it has places left; otherwise
/// in the emptiest one. Messages between neighbouring stages then stay inside nodes.
std::vector<std::int32_t> SeedSearch::aligned_order(const std::vector<std::int32_t>& replicas, const Nodes& nodes) {
  std::vector<std::int32_t> used(static_cast<std::size_t>(nodes.count));
  std::vector<std::int32_t> order;
  for (const std::int32_t holders : replicas) {
    for (std::int32_t h = 0; h < holders; ++h) {
      auto node = static_cast<std::size_t>(h % nodes.count);
      if (used[node] == nodes.places) {
        node = static_cast<std::size_t>(std::min_element(used.begin(), used.end()) - used.begin());
      }
      order.push_back(static_cast<std::int32_t>(node) * nodes.places + used[node]++);
    }
  }
  return order;
}

void SeedSearch::add_aligned(const PipelinePlan& seed, std::vector<PipelinePlan>& all) {
  if (seed.replicas.empty()) return;
  try {
    if (!nodes_) {
      const Cluster cluster = job_.price(seed.parallelism, seed.partition, seed.places, {}).pipeline;
      const std::int32_t places = cluster.devices_per_node;
      nodes_ = Nodes{static_cast<std::int32_t>(cluster.devices.size()) / places, places};
    }
  } catch (const Error&) {  // it cannot be simulated, either
    return;
  }
  if (seed.places > nodes_->count * nodes_->places) return;
  all.push_back(seed);
  all.back().order = aligned_order(seed.replicas, *nodes_);
}

std::vector<ScoredPlan> SeedSearch::begin(const std::vector<PipelinePlan>& seeds, const Stop& stop) {
  std::vector<PipelinePlan> all = seeds;
  for (const PipelinePlan& seed : seeds) add_aligned(seed, all);
  std::erase_if(all, [&](const PipelinePlan& plan) { return !is_new(plan); });
  std::vector<ScoredPlan> scores = score(all, stop);
  starts_.insert(starts_.end(), scores.begin(), scores.end());
  std::erase_if(starts_, [](const ScoredPlan& plan) { return plan.plan.replicas.empty(); });
  std::sort(starts_.begin(), starts_.end(), better_plan);
  if (starts_.size() > kStarts) starts_.resize(kStarts);
  std::reverse(starts_.begin(), starts_.end());
  if (!starts_.empty()) waiting_ = near(starts_.back().plan);
  return scores;
}

/// Climbs from the best start: simulates its neighbours until one is better, which takes its place; a start whose
/// neighbours are all worse is left for the next one.
std::vector<ScoredPlan> SeedSearch::go_on(std::int64_t most, const Stop& stop) {
  std::vector<ScoredPlan> found;
  while (!starts_.empty() && std::ssize(found) < most && !(stop && stop())) {
    const auto some = std::min<std::int64_t>(kAtOnce, most - std::ssize(found));
    std::vector<PipelinePlan> plans;
    for (; !waiting_.empty() && std::ssize(plans) < some; waiting_.pop_back()) {
      if (is_new(waiting_.back())) plans.push_back(waiting_.back());
    }
    const std::vector<ScoredPlan> scores = score(plans, stop);
    found.insert(found.end(), scores.begin(), scores.end());
    const auto best = std::min_element(scores.begin(), scores.end(), better_plan);
    const auto key = [](const ScoredPlan& plan) { return std::tuple(plan.excess_bytes, plan.step_ns); };
    if (best != scores.end() && key(*best) < key(starts_.back())) {
      starts_.back() = *best;
    } else if (waiting_.empty()) {
      starts_.pop_back();
    } else {
      continue;
    }
    if (!starts_.empty()) waiting_ = near(starts_.back().plan);
  }
  return found;
}

std::vector<PipelinePlan> SeedSearch::near(const PipelinePlan& plan) const {
  std::vector<PipelinePlan> all = plans_near(plan);
  std::reverse(all.begin(), all.end());
  if (!nodes_ || plan.order != aligned_order(plan.replicas, *nodes_)) return all;
  for (PipelinePlan& each : all) each.order = aligned_order(each.replicas, *nodes_);
  return all;
}

std::vector<ScoredPlan> SeedSearch::score(const std::vector<PipelinePlan>& plans, const Stop& stop) const {
  const std::vector<PlanTrial> trials = trials_(plans.size(), [&](std::size_t at) {
    PlanTrial trial;
    if (stop && stop()) return trial;
    try {
      trial = told_of(fitted_plan(plans[at], job_.price, true));
    } catch (const Error&) {  // a plan of somebody else that cannot be here
    }
    return trial;
  });
  std::vector<ScoredPlan> all;
  for (std::size_t at = 0; at < plans.size(); ++at) {
    if (!trials[at].score) continue;
    all.push_back(*trials[at].score);
    all.back().plan = plans[at];
    take_choices(trials[at], all.back().plan);
  }
  return all;
}

bool SeedSearch::is_new(const PipelinePlan& plan) {
  return seen_.insert({plan_kind(plan), plan.partition.bounds, plan.order}).second;
}

}  // namespace plumb
