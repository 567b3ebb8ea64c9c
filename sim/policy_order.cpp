#include "sim/policy_order.hpp"

#include <algorithm>
#include <tuple>

namespace plumb {
namespace {

/// Chooses by `RunTimePolicy`.
class PolicyChoice final : public ReadyPolicy {
 public:
  explicit PolicyChoice(const RunTimePolicy& policy) : policy_(policy) {}

  std::optional<std::size_t> choose(std::span<const ReadyAction> ready, const ReadyDevice& device) const override {
    const std::int64_t limit = policy_.limit(index(device.device));
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].action.op == Op::kF && limit > 0 && device.kept >= limit) continue;
      if (!best || rank(ready[i]) < rank(ready[*best])) best = i;
    }
    return best;
  }

 private:
  /// Smaller is better. Updates come as soon as they may.
  std::tuple<Ticks, std::ptrdiff_t, MicrobatchId, StageId> rank(const ReadyAction& ready) const {
    const auto& order = policy_.priorities;
    const auto place = std::ranges::find(order, ready.action.op);
    const std::ptrdiff_t priority = place == order.end() ? -1 : place - order.begin();
    const Ticks since = policy_.choice == RunTimePolicy::Choice::kArrival ? ready.since : 0;
    return {since, priority, ready.action.microbatch, ready.action.stage};
  }

  const RunTimePolicy& policy_;
};

}  // namespace

RunTimeOrder policy_order(const Schedule& schedule, const Program& program, std::uint64_t seed) {
  ReadyOptions options;
  options.window = program.size();
  options.keep_memory = false;
  options.oldest_only = true;
  options.seed = seed;
  RunTimeOrder order = run_time_order(schedule, program, PolicyChoice(*schedule.policy), options);
  order.schedule.policy.reset();
  return order;
}

}  // namespace plumb
