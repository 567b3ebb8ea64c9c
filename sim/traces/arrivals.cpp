#include "sim/traces/arrivals.hpp"

#include <algorithm>

namespace plumb {

Arrivals::Arrivals(std::span<const RankRun> runs) {
  for (const RankRun& run : runs) {
    for (const TracedAction& message : run.messages) {
      if (message.arrived_ns) arrived_[key_of(message)] = *message.arrived_ns;
    }
  }
}

Arrivals::Key Arrivals::key_of(const TracedAction& action) {
  const bool backward = is_backward(action.action.op) || action.action.op == Op::kRecvB;
  return {action.action.stage, backward, action.action.microbatch, action.step};
}

std::int64_t Arrivals::of(const TracedAction& work) const {
  const auto found = arrived_.find(key_of(work));
  return found == arrived_.end() ? work.start_ns : std::min(found->second, work.start_ns);
}

}  // namespace plumb
