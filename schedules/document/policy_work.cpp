#include "schedules/document/policy_work.hpp"

#include <algorithm>

namespace plumb {
namespace {

constexpr std::int64_t kMostPolicyActions = 100'000;

bool has(const RunTimePolicy& policy, Op op) {
  return std::ranges::find(policy.priorities, op) != policy.priorities.end();
}

/// Appends the actions of one update, op by op, to the lists of the stages' devices.
class WorkWriter {
 public:
  explicit WorkWriter(const Schedule& schedule)
      : schedule_(schedule), policy_(*schedule.policy), lists_(static_cast<std::size_t>(schedule.num_devices)) {}

  std::vector<DeviceList> write() {
    const std::int64_t per_update = schedule_.per_update(StageId{0});
    for (std::int64_t first = 0; first < schedule_.num_microbatches; first += per_update) {
      for (std::int64_t k = first; k < first + per_update; ++k) forward(k);
      for (std::int64_t k = first; k < first + per_update && !schedule_.forward_only; ++k) backward(k);
      if (!schedule_.forward_only) update(first / per_update);
    }
    return std::move(lists_);
  }

 private:
  void update(std::int64_t number) {
    for (std::size_t replica = 0; replica < schedule_.placement.size(); ++replica) {
      for (std::int32_t stage = 0; stage < schedule_.num_stages; ++stage) {
        for (const DeviceId device : schedule_.placement[replica][static_cast<std::size_t>(stage)]) {
          Action action = action_of(stage, Op::kU, number);
          action.replica = ReplicaId{static_cast<std::int16_t>(replica)};
          lists_[index(device)].actions.push_back(action);
        }
      }
    }
  }

  void add(std::int32_t stage, Op op, std::int64_t number) {
    Action action = action_of(stage, op, number);
    const auto replicas = static_cast<std::int64_t>(schedule_.placement.size());
    action.replica = ReplicaId{static_cast<std::int16_t>(number % replicas)};
    lists_[index(device_of(schedule_, action.replica, action.stage, number))].actions.push_back(action);
  }

  void forward(std::int64_t k) {
    for (std::int32_t stage = 0; stage < schedule_.num_stages; ++stage) add(stage, Op::kF, k);
  }

  void backward(std::int64_t k) {
    for (std::int32_t stage = schedule_.num_stages; stage-- > 0;) {
      if (has(policy_, Op::kR) && stage + 1 < schedule_.num_stages) add(stage, Op::kR, k);
      add(stage, has(policy_, Op::kB) ? Op::kB : Op::kI, k);
      if (has(policy_, Op::kW)) add(stage, Op::kW, k);
    }
  }

  const Schedule& schedule_;
  const RunTimePolicy& policy_;
  std::vector<DeviceList> lists_;
};

}  // namespace

std::vector<DeviceList> work_of_policy(const Schedule& schedule) { return WorkWriter(schedule).write(); }

std::string policy_fault(const Schedule& schedule) {
  const RunTimePolicy& policy = *schedule.policy;
  const bool whole = has(policy, Op::kB);
  const bool halves = has(policy, Op::kI) && has(policy, Op::kW);
  const bool any_half = has(policy, Op::kI) || has(policy, Op::kW);
  if (!has(policy, Op::kF)) return "priorities without F; expected forwards among them";
  if (schedule.forward_only && policy.priorities.size() != 1) return "the mode is forward; expected F alone";
  if (!schedule.forward_only && (whole ? any_half : !halves))
    return "expected B, or both I and W, among the priorities";
  if (schedule.microbatches_per_update.size() != 1 ||
      schedule.num_microbatches % schedule.per_update(StageId{0}) != 0) {
    return "expected one number of microbatches per update, and whole updates";
  }
  bool predicts = false;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    predicts |= schedule.policy_of(StageId{stage}) == WeightPolicy::kPredicted;
  }
  if (!schedule.weights.phases.empty() || predicts) {
    return "what is decided at run time cannot be predicted; expected a weight policy without predictions and phases";
  }
  if (!schedule.extra_edges.empty()) return "expected no extra_edges";
  if (!schedule.start_together.empty()) return "expected no start_together";
  if (schedule.num_microbatches > kMostPolicyActions / schedule.num_stages) {
    return "stages times microbatches must be at most " + std::to_string(kMostPolicyActions);
  }
  return "";
}

}  // namespace plumb
