#include "sim/events/policy_order.hpp"

#include "schedules/catalogue/policy_choice.hpp"

namespace plumb {
namespace {

/// Chooses by `RunTimePolicy`.
class PolicyChoice final : public ReadyPolicy {
 public:
  explicit PolicyChoice(const RunTimePolicy& policy) : policy_(policy) {}

  std::optional<std::size_t> choose(std::span<const ReadyAction> ready, const ReadyDevice& device) const override {
    return plumb::choose(policy_, ready, device);
  }

 private:
  const RunTimePolicy& policy_;
};

}  // namespace

RunTimeOrder policy_order(const Schedule& schedule, const Program& program, std::uint64_t seed) {
  ReadyOptions options;
  options.window = program.size();
  options.keep_memory = false;
  options.oldest_only = true;
  options.updates_may_wait = true;
  options.recompute_in_time = true;
  options.seed = seed;
  RunTimeOrder order = run_time_order(schedule, program, PolicyChoice(*schedule.policy), options);
  order.schedule.policy.reset();
  return order;
}

}  // namespace plumb
