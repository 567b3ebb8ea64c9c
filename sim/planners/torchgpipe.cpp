#include <algorithm>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

/// Sums of blocks of a sequence; a border may be moved by one element.
class Blocks {
 public:
  Blocks(std::vector<double> values, std::size_t count) : values_(std::move(values)) {
    for (std::size_t b = 0; b <= count; ++b)
      bounds_.push_back(b == count ? values_.size() : values_.size() / count * b);
    for (std::size_t b = 0; b < count; ++b) {
      sums_.push_back(0);
      for (std::size_t k = bounds_[b]; k < bounds_[b + 1]; ++k) sums_.back() += values_[k];
    }
  }

  const std::vector<std::size_t>& bounds() const { return bounds_; }
  const std::vector<double>& sums() const { return sums_; }

  std::size_t largest() const {
    return static_cast<std::size_t>(std::max_element(sums_.begin(), sums_.end()) - sums_.begin());
  }

  /// Of the smallest blocks, the one nearest to `block`.
  std::size_t smallest_near(std::size_t block) const {
    const double least = *std::min_element(sums_.begin(), sums_.end());
    std::size_t best = sums_.size();
    const auto distance = [&](std::size_t b) { return b < block ? block - b : b - block; };
    for (std::size_t b = 0; b < sums_.size(); ++b) {
      if (sums_[b] == least && (best == sums_.size() || distance(b) < distance(best))) best = b;
    }
    return best;
  }

  /// `block` takes one element from its neighbour on the side of `from`.
  void grow(std::size_t block, std::size_t from) {
    const bool left = from < block;
    const double value = left ? values_[--bounds_[block]] : values_[bounds_[block + 1]++];
    sums_[block] += value;
    sums_[left ? block - 1 : block + 1] -= value;
  }

 private:
  std::vector<double> values_;
  std::vector<std::size_t> bounds_;
  std::vector<double> sums_;
};

/// torchgpipe's balancing by "Block Partitions of Sequences" (Barany and Grinberg): costs are scaled to [0, 1]; while
/// the largest block is more than 1 above the smallest, the smallest one nearest to it grows by an element on its side.
Plan plan_torchgpipe(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const auto count = std::min(static_cast<std::size_t>(problem.num_devices()), chain.size());
  std::vector<double> costs;
  for (std::size_t k = 0; k < chain.size(); ++k) costs.push_back(static_cast<double>(chain.total(k, k + 1)));
  const auto [least, most] = std::minmax_element(costs.begin(), costs.end());
  const double base = *least;
  const double range = *most - *least;
  for (double& cost : costs) cost = range > 0 ? (cost - base) / range : 0;
  Blocks blocks(costs, count);
  // The theorem's procedure ends; the bound only guards against rounding.
  for (std::size_t step = 0; step < chain.size() * chain.size() * count; ++step) {
    problem.stop.check();
    const std::size_t p = blocks.largest();
    const std::size_t q = blocks.smallest_near(p);
    if (blocks.sums()[p] <= blocks.sums()[q] + 1) break;
    blocks.grow(q, p);
  }
  Plan plan;
  for (std::size_t b = 0; b < count; ++b) {
    PlanStage stage = chain_stage(chain, blocks.bounds()[b], blocks.bounds()[b + 1], 1);
    stage.load_ns = static_cast<double>(chain.total(blocks.bounds()[b], blocks.bounds()[b + 1]));
    plan.claimed_ns = std::max(plan.claimed_ns, stage.load_ns);
    plan.stages.push_back(std::move(stage));
  }
  const std::vector<std::size_t> balanced = balanced_bounds(chain, static_cast<std::int32_t>(count));
  for (std::size_t b = 0; b < count; ++b) {
    plan.lower_bound_ns = std::max(plan.lower_bound_ns, static_cast<double>(chain.total(balanced[b], balanced[b + 1])));
  }
  plan.states = static_cast<std::int64_t>(chain.size());
  return plan;
}

}  // namespace

Planner torchgpipe_planner() {
  return {.name = "torchgpipe",
          .paper = "Kim et al., 2020; Barany and Grinberg",
          .year = 2020,
          .minimises = "largest block of layers",
          .plan = plan_torchgpipe};
}

}  // namespace plumb
