#include "schedules/catalogue/policy_choice.hpp"

#include <algorithm>
#include <tuple>

namespace plumb {
namespace {

/// Smaller is better. Updates come as soon as they may.
std::tuple<Ticks, bool, std::ptrdiff_t, MicrobatchId, StageId> rank(const RunTimePolicy& policy,
                                                                    const ReadyAction& ready,
                                                                    const ReadyDevice& device) {
  const auto& order = policy.priorities;
  const auto place = std::ranges::find(order, ready.action.op);
  const std::ptrdiff_t priority = place == order.end() ? -1 : place - order.begin();
  const auto by_priority = [&](Ticks since, bool is_message) {
    return std::tuple{since, is_message, priority, ready.action.microbatch, ready.action.stage};
  };
  if (policy.choice == RunTimePolicy::Choice::kPriority) return by_priority(0, false);
  const std::int64_t limit = policy.limit(index(device.device));
  const bool held_back = ready.action.op == Op::kF && limit > 0 && device.forwards >= limit;
  const Ticks room = held_back ? device.freed[static_cast<std::size_t>(device.forwards - limit)] : 0;
  return by_priority(std::max(ready.since, room), ready.since > room);
}

}  // namespace

std::optional<std::size_t> choose(const RunTimePolicy& policy, std::span<const ReadyAction> ready,
                                  const ReadyDevice& device) {
  const std::int64_t limit = policy.limit(index(device.device));
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (ready[i].action.op == Op::kF && limit > 0 && device.kept >= limit) continue;
    if (!best || rank(policy, ready[i], device) < rank(policy, ready[*best], device)) best = i;
  }
  return best;
}

}  // namespace plumb
