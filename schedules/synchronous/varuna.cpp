#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "schedules/generator.hpp"
#include "schedules/run_time_rule.hpp"

namespace plumb {
namespace {

/// What a stage could do, oldest first.
struct VarunaStage {
  std::deque<std::int64_t> forwards;
  std::deque<std::int64_t> recomputes;
  std::deque<std::int64_t> backwards;
};

class VarunaRule final : public RunTimeRule {
 public:
  VarunaRule(ChainTimes times, std::int64_t microbatches)
      : times_(std::move(times)),
        last_(static_cast<std::int32_t>(times_.forward.size()) - 1),
        stages_(times_.forward.size()) {
    for (std::int64_t k = 0; k < microbatches; ++k) stages_[0].forwards.push_back(k);
    post(0, 0, action_of(0, Op::kU, 0));  // wakes the first stage
  }

  void arrive(std::int32_t stage, const Action& work) override {
    const auto microbatch = static_cast<std::int64_t>(work.microbatch);
    VarunaStage& at = stages_[static_cast<std::size_t>(stage)];
    if (work.op == Op::kF) at.forwards.push_back(microbatch);
    if (work.op == Op::kR) at.recomputes.push_back(microbatch);
    if (work.op == Op::kB && ++inputs_[{stage, microbatch}] == (stage == last_ ? 1 : 2)) {
      at.backwards.push_back(microbatch);
    }
  }

  std::pair<Action, Ticks> choose(std::int32_t stage, Ticks now) override {
    VarunaStage& at = stages_[static_cast<std::size_t>(stage)];
    if (!at.backwards.empty()) return backward(stage, take(at.backwards), now);
    if (!at.recomputes.empty()) return recompute(stage, take(at.recomputes), now);
    if (!at.forwards.empty()) return forward(stage, take(at.forwards), now);
    return kStayIdle;
  }

 private:
  static std::int64_t take(std::deque<std::int64_t>& queue) {
    const std::int64_t oldest = queue.front();
    queue.pop_front();
    return oldest;
  }

  std::pair<Action, Ticks> forward(std::int32_t stage, std::int64_t microbatch, Ticks now) {
    const Ticks time = times_.forward[static_cast<std::size_t>(stage)];
    if (stage < last_) post(now + time + times_.transfer, stage + 1, action_of(stage + 1, Op::kF, microbatch));
    if (stage == last_) post(now + time, stage, action_of(stage, Op::kB, microbatch));
    return {action_of(stage, Op::kF, microbatch), time};
  }

  std::pair<Action, Ticks> recompute(std::int32_t stage, std::int64_t microbatch, Ticks now) {
    const Ticks time = times_.recompute[static_cast<std::size_t>(stage)];
    post(now + time, stage, action_of(stage, Op::kB, microbatch));
    return {action_of(stage, Op::kR, microbatch), time};
  }

  /// The stage before begins to recompute such that it is done when the gradient arrives.
  std::pair<Action, Ticks> backward(std::int32_t stage, std::int64_t microbatch, Ticks now) {
    const Ticks time = times_.backward[static_cast<std::size_t>(stage)];
    if (stage > 0) {
      const Ticks arrival = now + time + times_.transfer;
      const Ticks again = times_.recompute[static_cast<std::size_t>(stage) - 1];
      post(std::max(now, arrival - again), stage - 1, action_of(stage - 1, Op::kR, microbatch));
      post(arrival, stage - 1, action_of(stage - 1, Op::kB, microbatch));
    }
    return {action_of(stage, Op::kB, microbatch), time};
  }

  ChainTimes times_;
  std::int32_t last_ = 0;
  std::vector<VarunaStage> stages_;
  std::map<std::pair<std::int32_t, std::int64_t>, int> inputs_;  ///< of a backward: recompute and gradient
};

}  // namespace

/// Every stage but the last recomputes, and whoever is free takes what is there: a backward, otherwise a recompute,
/// otherwise a forward, oldest first. A recompute may begin so early that it is done when the gradient arrives, never
/// earlier; meanwhile forwards run. The rule is played through with the given costs (without: F = R = 1, B = 2, the
/// paper's) and frozen to the order that comes about.
/// Device d < p - 1 keeps the inputs of up to 3 (p - 1 - d) microbatches or so, and one whole activation; the last one
/// keeps one activation. Any p and m.
/// (Athlur et al., Varuna, arXiv 2111.04007; released code, generate_schedule.cc)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0F3 0R0 0B0 0R1 0B1 0R2 0B2 0R3 0B3 0U0
///   d1: 1F0 1F1 1F2 1R0 1B0 1R1 1B1 1R2 1B2 1F3 1R3 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule varuna(const ScheduleParams& params) {
  require_one_chunk("varuna", params);
  require_playable("varuna", params.num_microbatches * params.num_devices);
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("varuna", params, 1, updates);
  VarunaRule rule(chain_times(params, params.num_devices), params.num_microbatches);
  const std::vector<std::vector<Action>> order = play(rule, params.num_devices);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.add_all(order[static_cast<std::size_t>(d)]);
      list.add(StageId{d}, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
