#include "sim/traces/producers.hpp"

#include <algorithm>

namespace plumb {
namespace {

bool makes_value(Op op) { return op == Op::kF || is_backward(op); }

}  // namespace

TracedProducers::TracedProducers(std::span<const RankRun> runs) {
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    stages_ = std::max(stages_, runs[rank].stages);
    for (std::size_t at = 0; at < runs[rank].work.size(); ++at) {
      const TracedAction& work = runs[rank].work[at];
      const auto stage = static_cast<std::int32_t>(work.action.stage);
      stages_ = std::max(stages_, stage + 1);
      if (!makes_value(work.action.op)) continue;
      places_[{stage, is_backward(work.action.op), static_cast<std::int32_t>(work.action.microbatch), work.step}] = {
          rank, at};
    }
  }
}

std::optional<TracedProducers::Key> TracedProducers::key_of(const TracedAction& work) const {
  if (!makes_value(work.action.op)) return std::nullopt;
  const bool backward = is_backward(work.action.op);
  const std::int32_t stage = static_cast<std::int32_t>(work.action.stage) + (backward ? 1 : -1);
  if (stage < 0 || stage >= stages_) return std::nullopt;
  return Key{stage, backward, static_cast<std::int32_t>(work.action.microbatch), work.step};
}

std::optional<WorkPlace> TracedProducers::of(const TracedAction& work) const {
  const auto key = key_of(work);
  const auto found = key ? places_.find(*key) : places_.end();
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

bool TracedProducers::is_missing(const TracedAction& work) const { return key_of(work) && !of(work); }

}  // namespace plumb
