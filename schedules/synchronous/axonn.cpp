#include <algorithm>
#include <deque>
#include <utility>

#include "schedules/generator.hpp"
#include "schedules/run_time_rule.hpp"

namespace plumb {
namespace {

class MessageRule final : public RunTimeRule {
 public:
  MessageRule(ChainTimes times, std::int64_t microbatches, std::int64_t limit)
      : times_(std::move(times)),
        last_(static_cast<std::int32_t>(times_.forward.size()) - 1),
        microbatches_(microbatches),
        messages_(times_.forward.size()) {
    while (injected_ < std::min(limit, microbatches_)) inject(0);
  }

  void arrive(std::int32_t stage, const Action& work) override {
    messages_[static_cast<std::size_t>(stage)].push_back(work);
  }

  std::pair<Action, Ticks> choose(std::int32_t stage, Ticks now) override {
    std::deque<Action>& inbox = messages_[static_cast<std::size_t>(stage)];
    if (inbox.empty()) return kStayIdle;
    const Action work = inbox.front();
    inbox.pop_front();
    const auto microbatch = static_cast<std::int64_t>(work.microbatch);
    const Ticks time = (work.op == Op::kF ? times_.forward : times_.backward)[static_cast<std::size_t>(stage)];
    const Ticks arrival = now + time + times_.transfer;
    if (work.op == Op::kF && stage == last_) {
      inbox.push_front(action_of(stage, Op::kB, microbatch));  // follows at once
    } else if (work.op == Op::kF) {
      post(arrival, stage + 1, action_of(stage + 1, Op::kF, microbatch));
    } else if (stage > 0) {
      post(arrival, stage - 1, action_of(stage - 1, Op::kB, microbatch));
    } else if (injected_ < microbatches_) {
      inject(now + time);
    }
    return {work, time};
  }

 private:
  void inject(Ticks at) { post(at, 0, action_of(0, Op::kF, injected_++)); }

  ChainTimes times_;
  std::int32_t last_ = 0;
  std::int64_t microbatches_ = 0;
  std::int64_t injected_ = 0;
  std::vector<std::deque<Action>> messages_;
};

}  // namespace

/// Message driven: a device runs whatever arrives, an activation forward or a gradient backward, in order of arrival.
/// The first device lets `limit` microbatches in (default p), then one more for every backward that it finishes; the
/// last one runs the backward right behind its forward. The rule is played through with the given costs (without:
/// F = 1, B = 2) and frozen to the order that comes about.
/// Every device keeps at most min(p, m) activations. Any p and m.
/// (Singh and Bhatele, AxoNN, arXiv 2110.13005; released code, inter_layer.py)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3 0U0
///   d1: 1F0 1F1 1F2 1B0 1B1 1F3 1B2 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule axonn(const ScheduleParams& params) {
  require_one_chunk("axonn", params);
  require_playable("axonn", params.num_microbatches * params.num_devices);
  const std::int64_t limit = whole_number("axonn", params, "limit", params.num_devices);
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("axonn", params, 1, updates);
  schedule.parameters["limit"] = limit;
  MessageRule rule(chain_times(params, params.num_devices), params.num_microbatches, limit);
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
