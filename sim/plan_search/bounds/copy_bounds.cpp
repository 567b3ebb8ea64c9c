#include "sim/plan_search/bounds/copy_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "models/costs/ring_all_reduce.hpp"
#include "sim/plan_search/bounds/layer_sums.hpp"

namespace plumb {
namespace {

/// Copies at their places, with what does not depend on their shares.
class Copies {
 public:
  Copies(const PricedStages& stages, const CopiesPlacement& placement) : stages_(stages), placement_(placement) {
    for (std::size_t s = 0; s < stages.costs.times.size(); ++s) reductions_.push_back(reduction(s));
  }

  /// Statements 1 and 2 of `copies_bound` for copy `k` with so many microbatches.
  Ticks bound(std::size_t k, std::int64_t microbatches) const {
    Ticks bound = placement_bound(stages_, {placement_[k]}, microbatches);
    Ticks before = 0;
    for (std::size_t s = 0; s < placement_[k].size(); ++s) {
      const StageTimes& times = stages_.costs.times[s];
      const double speed = stages_.pipeline.devices[index(placement_[k][s].front())].speed;
      const Ticks passes = at_speed(times.f, speed, 1) + at_speed(least_backward(times), speed, 2);
      bound = std::max(bound, before + microbatches * passes + reductions_[s] + at_speed(times.u, speed, 1));
      before += at_speed(times.f, speed, 1);
    }
    return bound;
  }

 private:
  static Ticks at_speed(Ticks ticks, double speed, Ticks roundings) {
    if (speed == 1.0) return ticks;
    return std::max<Ticks>(0, static_cast<Ticks>(std::floor(static_cast<double>(ticks) / speed)) - roundings);
  }

  /// Returns the time of the ring of stage `s`, without the gradients of weights that several stages share: these are
  /// added up by themselves.
  Ticks reduction(std::size_t s) const {
    const StageCosts& costs = stages_.costs;
    if (costs.times[s].all_reduce > 0) return costs.times[s].all_reduce;
    if (costs.memory.empty()) return 0;
    std::int64_t bytes = costs.memory[s].gradient_bytes;
    for (const TiedWeight& tied : costs.tied) {
      const bool is_here = index(tied.first) == s || index(tied.second) == s;
      if (is_here && tied.first != tied.second) bytes -= tied.bytes;
    }
    std::set<DeviceId> devices;
    for (const auto& copy : placement_) devices.insert(copy[s].front());
    const double ns = ring_all_reduce_ns(stages_.pipeline, devices, std::max<std::int64_t>(0, bytes));
    return std::max<Ticks>(0, static_cast<Ticks>(std::floor(ns)) - 1);
  }

  const PricedStages& stages_;
  const CopiesPlacement& placement_;
  std::vector<Ticks> reductions_;
};

/// Statement 3 of `copies_setup_bound`.
Ticks reduced_bound(const LayerPrices& prices, const CopiesSetup& setup) {
  const LayerSums sums(prices, setup.microbatches);
  const std::int64_t bytes = std::max<std::int64_t>(0, prices.least_gradient_bytes) / setup.stages;
  const auto layers = static_cast<Ticks>(prices.load.size());
  const double fast = std::ranges::max(prices.speed);
  const double forward = static_cast<double>(std::max<Ticks>(0, prices.whole.f - layers)) / fast;
  const Ticks sum = sums.in_time(sums.reduction(bytes, setup.copies));
  return sum == 0 ? 0 : std::max<Ticks>(0, static_cast<Ticks>(std::floor(forward)) - layers) + sum;
}

}  // namespace

Ticks copies_setup_bound(const LayerPrices& prices, const CopiesSetup& setup, const ScheduleKinds& kinds) {
  const auto all = static_cast<std::size_t>(setup.places) * static_cast<std::size_t>(setup.copies);
  const std::int64_t turns = (setup.microbatches + setup.copies - 1) / setup.copies;
  const std::vector<double> speed = largest_of(prices.speed, all);
  // The update of every place is rounded by itself, and there are more of them than a single pipeline has.
  const double roundings = speed.front() * static_cast<double>(all) / std::accumulate(speed.begin(), speed.end(), 0.0);
  const Ticks work = held_bound(prices, speed, setup.microbatches, kinds) - static_cast<Ticks>(std::ceil(roundings));
  return std::max({work, setup_bound(prices, setup.places, turns, kinds), reduced_bound(prices, setup)});
}

Ticks copies_bound(const PricedStages& stages, const CopiesPlacement& placement,
                   const std::vector<std::int64_t>& shares) {
  const Copies copies(stages, placement);
  Ticks bound = 0;
  for (std::size_t k = 0; k < placement.size(); ++k) bound = std::max(bound, copies.bound(k, shares[k]));
  return bound;
}

std::vector<std::int64_t> least_bounded_shares(const PricedStages& stages, const CopiesPlacement& placement,
                                               std::int64_t microbatches, std::int64_t unit, std::int64_t least) {
  const Copies copies(stages, placement);
  std::vector<std::int64_t> shares(placement.size(), least);
  std::set<std::pair<Ticks, std::size_t>> done;  // bound of a copy with one unit more, and its number
  for (std::size_t k = 0; k < shares.size(); ++k) done.emplace(copies.bound(k, least + unit), k);
  for (std::int64_t given = least * std::ssize(shares); given < microbatches; given += unit) {
    const std::size_t first = done.begin()->second;
    done.erase(done.begin());
    shares[first] += unit;
    done.emplace(copies.bound(first, shares[first] + unit), first);
  }
  return shares;
}

}  // namespace plumb
