#include "sim/plan_search/bounds/pass_counts.hpp"

#include <algorithm>

namespace plumb {
namespace {

/// The most actions of a list that is read.
constexpr std::int64_t kMostActions = 100'000;

void count_pass(const Action& action, PassCounts::Passes& passes) {
  const std::int64_t times = 1 + action.merged;
  if (action.op == Op::kF) passes.f += times;
  if (action.op == Op::kB) passes.b += times;
  if (action.op == Op::kI) passes.i += times;
  if (action.op == Op::kW) passes.w += times;
}

Ticks backward_of(const PassCounts::Passes& counts, const LayerLeast::Passes& each) {
  return counts.b * each.b + counts.i * each.i + counts.w * each.w;
}

}  // namespace

std::vector<PassCounts> pass_counts(const Schedule& schedule) {
  if (schedule.policy || schedule.slices) return {};
  std::vector<PassCounts> counts(static_cast<std::size_t>(schedule.num_stages));
  for (const DeviceList& list : schedule.devices) {
    if (expanded_size(list) > kMostActions) return {};
    bool second = false;
    for (const Action& action : expand(list)) {
      PassCounts& stage = counts[index(action.stage)];
      const bool paired = second || action.overlaps_next != 0;
      second = action.overlaps_next != 0;
      if (action.op <= Op::kW) count_pass(action, paired ? stage.paired : stage.alone);
    }
  }
  return counts;
}

std::vector<LayerWork> layer_work(const LayerPrices& prices, const LeastPasses& least, std::int64_t microbatches,
                                  std::span<const PassCounts> counts) {
  std::vector<LayerWork> turns;
  for (const LayerLeast& layer : prices.least) {
    LayerWork of{.forward = microbatches * least.passes(layer).f, .backward = microbatches * least.backward(layer)};
    of.both = of.forward + of.backward;
    for (std::size_t s = 0; s < counts.size(); ++s) {
      const Ticks forward = counts[s].alone.f * layer.alone.f + counts[s].paired.f * layer.paired.f;
      const Ticks backward = backward_of(counts[s].alone, layer.alone) + backward_of(counts[s].paired, layer.paired);
      of.forward = s == 0 ? forward : std::min(of.forward, forward);
      of.backward = s == 0 ? backward : std::min(of.backward, backward);
      of.both = s == 0 ? forward + backward : std::min(of.both, forward + backward);
    }
    turns.push_back(of);
  }
  return turns;
}

std::shared_ptr<const KnownPassCounts::Counts> KnownPassCounts::of(const ScheduleVariant& variant, std::int32_t places,
                                                                   std::int64_t microbatches) {
  if (variant.for_costs) return nullptr;
  const Key key{variant.spec->name, variant.chunks, places, microbatches};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  const ScheduleParams params{.num_devices = places, .num_microbatches = microbatches, .chunks = variant.chunks};
  auto counts = std::make_shared<const Counts>(pass_counts(generate(variant.spec->name, params)));
  if (counts->empty()) counts = nullptr;
  const std::lock_guard lock(mutex_);
  return known_.try_emplace(key, std::move(counts)).first->second;
}

}  // namespace plumb
