#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/synchronous/slot_action.hpp"

namespace plumb {
namespace {

/// One worker: all p stages, `passes` microbatches of each step, one after the other, 2p slots each.
class Worker {
 public:
  Worker(std::int32_t p, std::int32_t number, std::int64_t passes) : p_(p), number_(number), passes_(passes) {}

  /// The whole list.
  void write(ListBuilder& list, std::int64_t updates) const {
    const Advance next{.microbatch = static_cast<std::int32_t>(p_ * passes_), .update = 1};
    write_passes(list, step(0, false), 0);
    list.repeat(updates - 1, next, [&] { write_passes(list, step(1, true), 1); });
    std::vector<SlotAction> late;
    add_updates(late, updates, true);
    for (const SlotAction& one : sorted(std::move(late))) list.add_all(std::span(&one.action, 1));
  }

 private:
  /// Step `t` in order. `late`: with the updates of the step before that had to wait for other workers.
  std::vector<SlotAction> step(std::int64_t t, bool late) const {
    std::vector<SlotAction> actions;
    if (late) add_updates(actions, t, true);
    add_updates(actions, t, false);
    const std::int64_t first = (t * p_ + number_) * passes_;
    for (const std::int64_t pass : written_passes()) {
      const std::int64_t start = 2 * p_ * pass;
      for (std::int32_t stage = 0; stage < p_; ++stage) {
        actions.push_back({start + stage, action(stage, Op::kF, first + pass)});
        actions.push_back({start + 2 * p_ - 1 - stage, action(stage, Op::kB, first + pass)});
        if (pass + 1 == passes_) {
          actions.push_back({start + 2 * p_ - 1 - stage, action(stage, Op::kReduceGrad, -1)});
        }
      }
    }
    return sorted(std::move(actions));
  }

  /// The first, the second, which stands for all in the middle, and the last.
  std::vector<std::int64_t> written_passes() const {
    if (passes_ == 1) return {0};
    if (passes_ == 2) return {0, 1};
    return {0, 1, passes_ - 1};
  }

  /// The updates of step t - 1 that come in step t (`late`), or those of step t that come in it.
  ///
  /// The last worker ends the backward of stage s 4p - 2 - s - 2 number slots after our start of the step (counted in
  /// its last pass). From there on the fresh weights are there: before our next forward of the stage where
  /// s >= p - 1 - number, otherwise after it.
  void add_updates(std::vector<SlotAction>& actions, std::int64_t t, bool late) const {
    for (std::int32_t stage = 0; stage < p_; ++stage) {
      const std::int64_t slot = 2 * p_ - 2 - stage - 2 * number_;  // of the next step's first pass
      if ((slot >= 0) != late) continue;
      const bool fresh = stage >= p_ - 1 - number_;
      const std::int64_t passes_before = !late || !fresh ? passes_ - 1 : 0;
      const std::int64_t within = late ? slot : slot + 2 * p_;
      actions.push_back({passes_before * 2 * p_ + within, action(stage, Op::kU, late ? t - 1 : t)});
    }
  }

  Action action(std::int32_t stage, Op op, std::int64_t number) const {
    Action made;
    made.stage = StageId{stage};
    made.op = op;
    made.microbatch = MicrobatchId{static_cast<std::int32_t>(number)};
    made.replica = ReplicaId{static_cast<std::int16_t>(number_)};
    return made;
  }

  /// By slot; updates stand before the slot's work, reductions after it.
  static std::vector<SlotAction> sorted(std::vector<SlotAction> actions) {
    const auto rank = [](const SlotAction& one) {
      const int within = one.action.op == Op::kU ? 0 : one.action.op == Op::kReduceGrad ? 2 : 1;
      return 3 * one.slot + within;
    };
    std::stable_sort(actions.begin(), actions.end(),
                     [&](const SlotAction& a, const SlotAction& b) { return rank(a) < rank(b); });
    return actions;
  }

  /// A step's actions. Passes between the first `alone` and the last hold nothing but work, and are folded.
  void write_passes(ListBuilder& list, const std::vector<SlotAction>& actions, std::int64_t alone) const {
    const auto pass = [&](std::int64_t number) {
      for (const SlotAction& one : actions) {
        if (one.slot / (2 * p_) == number) list.add_all(std::span(&one.action, 1));
      }
    };
    if (alone > 0 && passes_ > 1) pass(0);
    list.each(passes_ - 1 - alone, [&] { pass(alone); });
    pass(passes_ - 1);
  }

  std::int32_t p_;
  std::int32_t number_;
  std::int64_t passes_;
};

/// Each worker starts when the one before it has begun its second stage, so that they stay apart.
void stagger(Schedule& schedule, std::int64_t passes) {
  for (std::int32_t worker = 1; worker < schedule.num_devices; ++worker) {
    ExtraEdge edge;
    edge.before.stage = StageId{1};
    edge.before.microbatch = MicrobatchId{static_cast<std::int32_t>((worker - 1) * passes)};
    edge.before.replica = ReplicaId{static_cast<std::int16_t>(worker - 1)};
    edge.after.microbatch = MicrobatchId{static_cast<std::int32_t>(worker * passes)};
    edge.after.replica = ReplicaId{static_cast<std::int16_t>(worker)};
    schedule.extra_edges.push_back(edge);
  }
}

}  // namespace

/// Data parallelism with the workers in turn instead of at once: p workers with all p stages each, worker r two slots
/// after worker r - 1, so that at every instant all phases of the model are in progress, the activations of all
/// workers add up to about half of what they do at once, and gradients are complete at even intervals, one stage after
/// the other. A step takes m / p microbatches on each worker. m a multiple of p; p at most 1024. `rule=v2` (default):
/// stage s of worker r reads the weights of the current step where they are there in time, s >= p - 1 - r, those of
/// the step before elsewhere; `rule=v1`: those of the step before everywhere. A backward reads what its forward read;
/// two versions of the weights at most.
/// (Fournier and Oyallon, Cyclic Data Parallelism, arXiv 2403.08837, section 3; fournierlouis/Cyclic_Data_Parallelism)
///
///   p = 2, m = 2, 2 steps (G: gradients of all workers are added up)
///   d0: 0F0 1F0 1B0 1G 0B0 0G 0F2 1U0 1F2 0U0 1B2 1G 0B2 0G 1U1 0U1
///   d1: 1:0F1 1:1F1 1:1B1 1:1G 1:1U0 1:0B1 1:0G 1:0U0 1:0F3 1:1F3 1:1B3 1:1G 1:1U1 1:0B3 1:0G 1:0U1
Schedule cyclic_dp(const ScheduleParams& params) {
  require_one_chunk("cyclic-dp", params);
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(p <= 1024, "cyclic-dp", "num_devices (" + std::to_string(p) + ") must be at most 1024");
  require(m % p == 0, "cyclic-dp",
          "num_microbatches (" + std::to_string(m) + ") must be a multiple of num_devices (" + std::to_string(p) + ")");
  const std::int64_t updates = updates_or(params, 4);
  const std::string rule = choice("cyclic-dp", params, "rule", {"v2", "v1"});
  Schedule schedule = looped_schedule("cyclic-dp", params, 1, updates);
  schedule.parameters["rule"] = rule;
  schedule.parameters["updates"] = updates;
  schedule.weights.policy = rule == "v2" ? WeightPolicy::kStash : WeightPolicy::kDelay;
  schedule.placement.clear();
  for (std::int32_t worker = 0; worker < p; ++worker) {
    schedule.placement.emplace_back(static_cast<std::size_t>(p), std::vector{DeviceId{worker}});
    ListBuilder list;
    Worker(p, worker, m / p).write(list, updates);
    schedule.devices.push_back(list.take());
  }
  stagger(schedule, m / p);
  return schedule;
}

}  // namespace plumb
