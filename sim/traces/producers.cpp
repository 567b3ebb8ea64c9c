#include "sim/traces/producers.hpp"

#include <algorithm>

namespace plumb {
namespace {

bool makes_value(Op op) { return op == Op::kF || is_backward(op); }

}  // namespace

TracedProducers::TracedProducers(std::span<const RankRun> runs) {
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
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

std::optional<WorkPlace> TracedProducers::of(const TracedAction& work) const {
  if (!makes_value(work.action.op)) return std::nullopt;
  const bool backward = is_backward(work.action.op);
  const std::int32_t stage = static_cast<std::int32_t>(work.action.stage) + (backward ? 1 : -1);
  const auto found = places_.find({stage, backward, static_cast<std::int32_t>(work.action.microbatch), work.step});
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

}  // namespace plumb
