#include <algorithm>
#include <vector>

#include "schedules/generator.hpp"

namespace plumb {
namespace {

/// An action of one unit (the microbatches that the pipelines take at once) on one device, at its slot of the paper's
/// grid where every forward and backward takes one slot.
struct SlotAction {
  std::int64_t slot = 0;
  Op op{};
  std::int32_t stage = 0;
  std::int16_t pipeline = 0;
  std::int64_t microbatch = 0;
};

/// p devices, 2f pipelines. Pipelines 0 .. f-1 run down (stage s on device s + i p/f), the others up (mirrored).
struct Grid {
  std::int64_t p = 0;
  std::int64_t f = 0;
  std::int64_t unit = 0;  ///< microbatches of a unit: p, or m when it is smaller

  std::int64_t device_of(std::int64_t pipeline, std::int64_t stage) const {
    const std::int64_t shift = pipeline % f * (p / f);
    return pipeline < f ? (stage + shift) % p : (2 * p - 1 - stage - shift) % p;
  }
  std::int64_t stage_on(std::int64_t pipeline, std::int64_t device) const {
    const std::int64_t shift = pipeline % f * (p / f);
    return pipeline < f ? (device + p - shift) % p : (2 * p - 1 - device - shift) % p;
  }
  /// First microbatch of the pipeline in a unit; pipelines take blocks of (nearly) equal size in turn.
  std::int64_t first_of(std::int64_t pipeline) const { return (pipeline * unit + 2 * f - 1) / (2 * f); }

  /// One unit of one device, by slot. Slots of a device never collide.
  std::vector<SlotAction> unit_on(std::int64_t device) const {
    std::vector<SlotAction> actions;
    for (std::int64_t pipeline = 0; pipeline < 2 * f; ++pipeline) {
      const std::int64_t stage = stage_on(pipeline, device);
      const auto add = [&](std::int64_t slot, Op op, std::int64_t microbatch) {
        actions.push_back(
            {slot, op, static_cast<std::int32_t>(stage), static_cast<std::int16_t>(pipeline), microbatch});
      };
      const std::int64_t first = first_of(pipeline);
      for (std::int64_t microbatch = first; microbatch < first_of(pipeline + 1); ++microbatch) {
        const std::int64_t start = 2 * (microbatch - first);
        add(start + stage, Op::kF, microbatch);
        add(start + 2 * p - 1 - stage, Op::kB, microbatch);
      }
    }
    std::sort(actions.begin(), actions.end(), [](const SlotAction& a, const SlotAction& b) { return a.slot < b.slot; });
    return actions;
  }
};

/// Writes one device's share of an update: `num_units` units, each starting 2p slots behind the one before, so that the
/// forwards of a unit fill the tail of the previous one.
class UnitWriter {
 public:
  UnitWriter(ListBuilder& list, const std::vector<SlotAction>& unit, std::int64_t num_units, std::int64_t p)
      : list_(list), unit_(unit), num_units_(num_units), p_(p) {
    const auto in_tail = [&](const SlotAction& action) { return action.slot >= 2 * p_; };
    tail_ = std::find_if(unit_.begin(), unit_.end(), in_tail);
  }

  void write() const {
    window(0);
    list_.repeat(num_units_ - 2, {.microbatch = static_cast<std::int32_t>(p_)}, [&] { window(1); });
    if (num_units_ > 1) window(num_units_ - 1);
    for (auto at = tail_; at != unit_.end(); ++at) add(at, num_units_ - 1);
  }

 private:
  using Position = std::vector<SlotAction>::const_iterator;

  /// Slots [0, 2p) of unit `number`, merged with the tail of the unit before it.
  void window(std::int64_t number) const {
    Position late = number > 0 ? tail_ : unit_.end();
    for (Position own = unit_.begin(); own != tail_; ++own) {
      for (; late != unit_.end() && late->slot - 2 * p_ < own->slot; ++late) add(late, number - 1);
      add(own, number);
    }
    for (; late != unit_.end(); ++late) add(late, number - 1);
  }

  /// One action of unit `number`; behind the last backward of a stage, its reduction begins.
  void add(Position at, std::int64_t number) const {
    list_.add(StageId{at->stage}, at->op, at->microbatch + number * p_, ReplicaId{at->pipeline});
    if (at->op != Op::kB || number + 1 != num_units_) return;
    const auto later = [&](const SlotAction& other) { return other.pipeline == at->pipeline && other.op == Op::kB; };
    if (std::any_of(at + 1, unit_.end(), later)) return;
    list_.add_collective(StageId{at->stage}, Op::kReduceGrad, ReplicaId{at->pipeline});
  }

  ListBuilder& list_;
  const std::vector<SlotAction>& unit_;
  std::int64_t num_units_;
  std::int64_t p_;
  Position tail_;
};

/// Throws for what the grid does not allow.
Grid checked_grid(const ScheduleParams& params) {
  require_one_chunk("chimera", params);
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t f = whole_number("chimera", params, "pipelines", 1);
  require(p % 2 == 0, "chimera", "num_devices (" + std::to_string(p) + ") must be even");
  require(p <= 1024, "chimera", "num_devices (" + std::to_string(p) + ") must be at most 1024");
  require(p / 2 % f == 0, "chimera",
          "pipelines (" + std::to_string(f) + ") must divide num_devices / 2 (" + std::to_string(p / 2) + ")");
  require(m >= 2 * f, "chimera",
          "num_microbatches (" + std::to_string(m) + ") must be at least one for each of the " + std::to_string(2 * f) +
              " pipelines");
  require(m < p || m % p == 0, "chimera",
          "num_microbatches (" + std::to_string(m) + ") must be less than num_devices (" + std::to_string(p) +
              ") or a multiple of it");
  return {p, f, std::min(p, m)};
}

}  // namespace

/// 2f pipelines in opposite directions over the same devices, each with its own copy of the model and an equal share
/// of the microbatches. Units of p microbatches follow each other directly. `pipelines=f`, default 1.
/// Devices keep between p - p/(2f) + 1 and p activations. p even, f divides p/2, m < p or a multiple of p.
/// A stage's copies reduce their gradients as soon as the last local backward is done ("eager sync").
/// (Li and Hoefler, Chimera, arXiv 2107.06925, sections 3.1 to 3.4, direct concatenation)
///
///   p = 4, m = 4 (microbatches 2 and 3 go up; reductions and updates left out)
///   d0: 0F0 0F1 1:3F2 1:3B2 1:3F3 1:3B3 0B0 0B1
///   d1: 1F0 1:2F2 1F1 1:2F3 1:2B2 1B0 1:2B3 1B1
///   d2: 1:1F2 2F0 1:1F3 2F1 2B0 1:1B2 2B1 1:1B3
///   d3: 1:0F2 1:0F3 3F0 3B0 3F1 3B1 1:0B2 1:0B3
Schedule chimera(const ScheduleParams& params) {
  const Grid grid = checked_grid(params);
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("chimera", params, 1, updates);
  schedule.parameters["pipelines"] = grid.f;
  schedule.placement.assign(static_cast<std::size_t>(2 * grid.f), {});
  for (std::int64_t pipeline = 0; pipeline < 2 * grid.f; ++pipeline) {
    for (std::int64_t stage = 0; stage < grid.p; ++stage) {
      const DeviceId device{static_cast<std::int32_t>(grid.device_of(pipeline, stage))};
      schedule.placement[static_cast<std::size_t>(pipeline)].push_back({device});
    }
  }
  for (std::int64_t d = 0; d < grid.p; ++d) {
    const std::vector<SlotAction> unit = grid.unit_on(d);
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      UnitWriter(list, unit, params.num_microbatches / grid.unit, grid.p).write();
      for (std::int16_t pipeline = 0; pipeline < 2 * grid.f; ++pipeline) {
        const auto stage = static_cast<std::int32_t>(grid.stage_on(pipeline, d));
        list.add(StageId{stage}, Op::kU, 0, ReplicaId{pipeline});
      }
    }));
  }
  return schedule;
}

}  // namespace plumb
