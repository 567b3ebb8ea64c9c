#include "schedules/catalogue/policy_player.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/policy_choice.hpp"
#include "schedules/catalogue/run_time_rule.hpp"
#include "schedules/document/policy_work.hpp"

namespace plumb {
namespace {

/// What a stage could do, by op, oldest first.
struct PlayedStage {
  std::array<std::deque<ReadyAction>, kOpCount> ready;
  std::int64_t kept = 0;
  std::int64_t forwards = 0;
  std::vector<Ticks> freed;
  std::map<std::int64_t, int> inputs;  ///< of a backward, by microbatch: those that are there
};

/// Plays a policy over the stages of a chain, each on a device of its own. F, B and R (in time).
class PolicyPlayer final : public RunTimeRule {
 public:
  PolicyPlayer(const RunTimePolicy& policy, ChainTimes times, std::int64_t microbatches)
      : policy_(policy),
        times_(std::move(times)),
        last_(static_cast<std::int32_t>(times_.forward.size()) - 1),
        replays_(std::ranges::find(policy.priorities, Op::kR) != policy.priorities.end()),
        stages_(times_.forward.size()) {
    for (std::int64_t k = 0; k < microbatches; ++k) offer(0, Op::kF, k, 0);
    post(0, 0, action_of(0, Op::kU, 0));  // wakes the first stage
  }

  void arrive(std::int32_t stage, const Action& work, Ticks now) override {
    if (work.op == Op::kU) return;
    const auto microbatch = static_cast<std::int64_t>(work.microbatch);
    if (work.op == Op::kB) return gradient(stage, microbatch, now);
    offer(stage, work.op, microbatch, now);
  }

  std::pair<Action, Ticks> choose(std::int32_t stage, Ticks now) override {
    PlayedStage& at = stages_[static_cast<std::size_t>(stage)];
    std::vector<ReadyAction> oldest;
    for (const auto& queue : at.ready) {
      if (!queue.empty()) oldest.push_back(queue.front());
    }
    const auto chosen = plumb::choose(policy_, oldest, {DeviceId{stage}, at.kept, at.forwards, at.freed});
    if (!chosen) return kStayIdle;
    const Action action = oldest[*chosen].action;
    at.ready[static_cast<std::size_t>(action.op)].pop_front();
    return {action, run(action, now)};
  }

  std::int64_t left() const {
    std::int64_t waiting = 0;
    for (const PlayedStage& at : stages_) {
      for (const auto& queue : at.ready) waiting += static_cast<std::int64_t>(queue.size());
    }
    return waiting;
  }

 private:
  void offer(std::int32_t stage, Op op, std::int64_t microbatch, Ticks since) {
    auto& queue = stages_[static_cast<std::size_t>(stage)].ready[static_cast<std::size_t>(op)];
    queue.push_back({.action = action_of(stage, op, microbatch), .since = since});
  }

  /// A backward needs its gradient and, where the stash was dropped, its R; on the last stage its forward.
  void gradient(std::int32_t stage, std::int64_t microbatch, Ticks now) {
    std::map<std::int64_t, int>& inputs = stages_[static_cast<std::size_t>(stage)].inputs;
    const bool needs_replay = replays_ && stage < last_;
    if (++inputs[microbatch] < (needs_replay ? 2 : 1)) return;
    inputs.erase(microbatch);
    offer(stage, Op::kB, microbatch, stage == last_ ? 0 : now);
  }

  /// Starts the action; what it makes is on its way.
  Ticks run(const Action& action, Ticks now) {
    const auto stage = static_cast<std::int32_t>(action.stage);
    const auto s = static_cast<std::size_t>(stage);
    const auto microbatch = static_cast<std::int64_t>(action.microbatch);
    PlayedStage& at = stages_[s];
    if (action.op == Op::kF) {
      ++at.kept;
      ++at.forwards;
      const Ticks end = now + times_.forward[s];
      if (stage < last_) post(end + times_.transfer, stage + 1, action_of(stage + 1, Op::kF, microbatch));
      if (stage == last_) post(end, stage, action_of(stage, Op::kB, microbatch));
      return times_.forward[s];
    }
    if (action.op == Op::kR) {
      post(now + times_.recompute[s], stage, action_of(stage, Op::kB, microbatch));
      return times_.recompute[s];
    }
    --at.kept;
    at.freed.push_back(now + times_.backward[s]);
    if (stage > 0) send_gradient(stage - 1, microbatch, now, now + times_.backward[s] + times_.transfer);
    return times_.backward[s];
  }

  /// The stage begins to recompute such that it is done when the gradient arrives.
  void send_gradient(std::int32_t to, std::int64_t microbatch, Ticks now, Ticks arrival) {
    const Ticks again = times_.recompute[static_cast<std::size_t>(to)];
    if (replays_) post(std::max(now, arrival - again), to, action_of(to, Op::kR, microbatch));
    post(arrival, to, action_of(to, Op::kB, microbatch));
  }

  const RunTimePolicy& policy_;
  ChainTimes times_;
  std::int32_t last_ = 0;
  bool replays_ = false;
  std::vector<PlayedStage> stages_;
};

}  // namespace

void decide_by(std::string_view name, const ScheduleParams& params, const RunTimePolicy& policy, Schedule& schedule) {
  if (choice(name, params, "order", {"frozen", "run-time"}) == "run-time") {
    schedule.parameters["order"] = std::string("run-time");
    schedule.policy = policy;
    const std::string fault = policy_fault(schedule);
    require(fault.empty(), name, "option order=run-time: " + fault);
    schedule.devices = work_of_policy(schedule);
    return;
  }
  require_playable(name, params.num_microbatches * params.num_devices);
  PolicyPlayer player(policy, chain_times(params, params.num_devices), params.num_microbatches);
  const std::vector<std::vector<Action>> order = play(player, params.num_devices);
  require(player.left() == 0, name, "the limits leave devices with nothing that they may do");
  const std::int64_t updates = schedule.num_microbatches / params.num_microbatches;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.add_all(order[static_cast<std::size_t>(d)]);
      list.add(StageId{d}, Op::kU, 0);
    }));
  }
}

}  // namespace plumb
