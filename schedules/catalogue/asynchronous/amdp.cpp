#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// What a device does for one pipeline in every p slots (of equal length for F and B).
struct PipelineVisit {
  std::int16_t pipeline = 0;
  std::int32_t stage = 0;
};

/// p / 2 pipelines; each takes a microbatch every p slots, forward q of stage s in slot p q + s, backward q in slot
/// p q + 2p - 1 - s.
struct Pipelines {
  std::int64_t p = 0;

  std::int64_t count() const { return p / 2; }
  std::int64_t device_of(std::int64_t pipeline, std::int64_t stage) const {
    return (2 * pipeline + (pipeline % 2 == 0 ? stage : p - 1 - stage)) % p;
  }
  std::int32_t stage_on(std::int64_t pipeline, std::int64_t device) const {
    const std::int64_t at = (device + 2 * p - 2 * pipeline) % p;
    return static_cast<std::int32_t>(pipeline % 2 == 0 ? at : p - 1 - at);
  }

  /// The forwards and backwards of one device in p slots, in order; no two share a slot.
  std::vector<std::pair<Op, PipelineVisit>> round_on(std::int64_t device) const {
    std::vector<std::pair<Op, PipelineVisit>> slots(static_cast<std::size_t>(p));
    for (std::int64_t pipeline = 0; pipeline < count(); ++pipeline) {
      const PipelineVisit visit{static_cast<std::int16_t>(pipeline), stage_on(pipeline, device)};
      slots[static_cast<std::size_t>(visit.stage)] = {Op::kF, visit};
      slots[static_cast<std::size_t>(p - 1 - visit.stage)] = {Op::kB, visit};
    }
    return slots;
  }
};

/// Writes one device: rounds of p slots, round n with forward n and backward n - 1 of every pipeline.
class AmdpDevice {
 public:
  AmdpDevice(const Pipelines& pipelines, std::int64_t device, std::int64_t per_update)
      : pipelines_(pipelines), round_(pipelines.round_on(device)), per_update_(per_update) {}

  DeviceList write(std::int64_t updates) {
    const std::int64_t last = updates * per_update_;
    const Advance one{.microbatch = static_cast<std::int32_t>(pipelines_.count())};
    const Advance all{.microbatch = static_cast<std::int32_t>(pipelines_.count() * per_update_), .update = 1};
    round(0, true, false);
    list_.repeat(updates - 1, all, [&] { update(1, one, true); });
    update(last - per_update_ + 1, one, false);
    return list_.take();
  }

 private:
  /// The rounds [first, first + per_update), which end with an update; `more` forwards follow after the last one.
  void update(std::int64_t first, const Advance& one, bool more) {
    list_.repeat(per_update_ - 1, one, [&] { round(first, true, true); });
    round(first + per_update_ - 1, more, true);
  }

  void round(std::int64_t number, bool forwards, bool backwards) {
    for (const auto& [op, visit] : round_) {
      const StageId stage{visit.stage};
      const ReplicaId replica{visit.pipeline};
      if (op == Op::kF) {
        if (forwards) list_.add(stage, op, number * pipelines_.count() + visit.pipeline, replica);
        continue;
      }
      if (!backwards) continue;
      list_.add(stage, op, (number - 1) * pipelines_.count() + visit.pipeline, replica);
      if (number % per_update_ != 0) continue;
      if (pipelines_.count() > 1) list_.add_collective(stage, Op::kReduceGrad, replica);
      list_.add(stage, Op::kU, number / per_update_ - 1, replica);
    }
  }

  const Pipelines& pipelines_;
  std::vector<std::pair<Op, PipelineVisit>> round_;
  std::int64_t per_update_;
  ListBuilder list_;
};

}  // namespace

/// p / 2 pipelines in alternating directions over the same devices, each with its own copy of the model and at most two
/// microbatches under way, so that no more than one backward stands between a forward and its backward on a stage. A
/// pipeline alone is busy 2/p of the time; a microbatch enters it every p slots (a slot is a pass), so that the
/// pipelines' passes never collide and together fill every slot. (The paper admits two at once and lets collisions
/// queue, first in, first out.) Gradients of all copies are added up every m microbatches, m / (p/2) of each pipeline;
/// of those only the first one of each pipeline reads a newer version in its backward, on the first p/2 stages.
/// p even, m a multiple of p/2. A device keeps at most p activations, and p/2 stages of one version.
/// (AMDP, arXiv 2605.29664, intake 2; its optimizer states are sharded, here every copy has its own)
///
///   p = 4, m = 2, 2 updates (reductions left out; 1: is the mirrored pipeline)
///   d0: 0F0 1:1F1 0F2 1:1F3 1:1B1 1:1U0 0B0 0U0 1:1B3 1:1U1 0B2 0U1
///   d1: 1:0F1 1F0 1:0F3 1F2 1B0 1U0 1:0B1 1:0U0 1B2 1U1 1:0B3 1:0U1
///   d2: 2F0 1:3F1 1:3B1 1:3U0 2B0 2U0 2F2 1:3F3 1:3B3 1:3U1 2B2 2U1
///   d3: 1:2F1 3F0 3B0 3U0 1:2B1 1:2U0 1:2F3 3F2 3B2 3U1 1:2B3 1:2U1
Schedule amdp(const ScheduleParams& params) {
  require_one_chunk("amdp", params);
  const Pipelines pipelines{params.num_devices};
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(p % 2 == 0, "amdp", "num_devices (" + std::to_string(p) + ") must be even");
  require(p <= 1024, "amdp", "num_devices (" + std::to_string(p) + ") must be at most 1024");
  require(m % pipelines.count() == 0, "amdp",
          "num_microbatches (" + std::to_string(m) + ") must be a multiple of the pipelines (" +
              std::to_string(pipelines.count()) + ")");
  const std::int64_t updates = updates_or(params, std::clamp<std::int64_t>(kMostMicrobatches / m, 1, 8));
  Schedule schedule = looped_schedule("amdp", params, 1, updates);
  schedule.parameters["updates"] = updates;
  schedule.weights.policy = WeightPolicy::kLatest;
  schedule.placement.assign(static_cast<std::size_t>(pipelines.count()), {});
  for (std::int64_t pipeline = 0; pipeline < pipelines.count(); ++pipeline) {
    for (std::int64_t stage = 0; stage < p; ++stage) {
      const DeviceId device{static_cast<std::int32_t>(pipelines.device_of(pipeline, stage))};
      schedule.placement[static_cast<std::size_t>(pipeline)].push_back({device});
    }
  }
  for (std::int64_t d = 0; d < p; ++d) {
    schedule.devices.push_back(AmdpDevice(pipelines, d, m / pipelines.count()).write(updates));
  }
  return schedule;
}

}  // namespace plumb
