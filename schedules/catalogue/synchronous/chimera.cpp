#include <algorithm>
#include <span>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/recompute_option.hpp"
#include "schedules/catalogue/synchronous/slot_action.hpp"

namespace plumb {
namespace {

/// How more microbatches than devices are taken (section 3.5).
enum class Scaling : std::uint8_t {
  kDirect,    ///< units of p microbatches one after another
  kDoubling,  ///< a forward takes two microbatches at once: as long as a backward
  kHalving,   ///< a backward takes half a microbatch at once: as long as a forward
};

/// When the copies of a stage reduce their gradients (section 3.2).
enum class Sync : std::uint8_t {
  kEager,     ///< right after the last backward of the copy
  kEagerOpt,  ///< there only if the device waits later on; otherwise at the end
  kEnd,       ///< when the device has done everything
};

/// p devices, 2f pipelines. Pipelines 0 .. f-1 run down (stage s on device s + i p/f), the others up (mirrored).
struct ChimeraGrid {
  std::int64_t p = 0;
  std::int64_t f = 0;
  std::int64_t m = 0;  ///< of one update
  Scaling scaling{};
  Sync sync{};

  std::int64_t together() const { return scaling == Scaling::kDoubling ? 2 : 1; }  ///< microbatches of a forward
  std::int64_t unit() const { return p * together(); }                             ///< microbatches of a whole unit
  std::int64_t num_units() const { return (m + unit() - 1) / unit(); }
  std::int64_t period() const { return scaling == Scaling::kDirect ? 2 * p : 3 * p; }  ///< slots between units

  std::int64_t device_of(std::int64_t pipeline, std::int64_t stage) const {
    const std::int64_t shift = pipeline % f * (p / f);
    return pipeline < f ? (stage + shift) % p : (2 * p - 1 - stage - shift) % p;
  }
  std::int64_t stage_on(std::int64_t pipeline, std::int64_t device) const {
    const std::int64_t shift = pipeline % f * (p / f);
    return pipeline < f ? (device + p - shift) % p : (2 * p - 1 - device - shift) % p;
  }

  /// A unit of `microbatches` on one device, by slot. Slots of a device never collide. Pipelines take blocks of
  /// (nearly) equally many forwards in turn.
  std::vector<SlotAction> unit_on(std::int64_t device, std::int64_t microbatches) const {
    std::vector<SlotAction> actions;
    const std::int64_t forwards = (microbatches + together() - 1) / together();
    for (std::int64_t pipeline = 0; pipeline < 2 * f; ++pipeline) {
      Action action;
      action.stage = StageId{static_cast<std::int32_t>(stage_on(pipeline, device))};
      action.replica = ReplicaId{static_cast<std::int16_t>(pipeline)};
      const std::int64_t begin = (pipeline * forwards + 2 * f - 1) / (2 * f);
      const std::int64_t end = ((pipeline + 1) * forwards + 2 * f - 1) / (2 * f);
      for (std::int64_t forward = begin; forward < end; ++forward) {
        const std::int64_t first = forward * together();
        action.microbatch = MicrobatchId{static_cast<std::int32_t>(first)};
        add(actions, 2 * (forward - begin), action, first + 1 < microbatches);
      }
    }
    std::sort(actions.begin(), actions.end(), [](const SlotAction& a, const SlotAction& b) { return a.slot < b.slot; });
    return actions;
  }

 private:
  /// A forward that starts at `start` on stage 0, and its backward or two; `second`: there is a microbatch after it.
  void add(std::vector<SlotAction>& actions, std::int64_t start, Action action, bool second) const {
    const std::int64_t stage = static_cast<std::int64_t>(index(action.stage));
    const bool two = scaling == Scaling::kHalving || (scaling == Scaling::kDoubling && second);
    Action forward = action;
    forward.op = Op::kF;
    forward.merged = scaling == Scaling::kDoubling && second ? 1 : 0;
    actions.push_back({start + stage, forward});
    action.op = Op::kB;
    if (scaling == Scaling::kHalving) action.slice = 0;
    actions.push_back({start + 2 * p - 1 - stage, action});
    if (!two) return;
    if (scaling == Scaling::kHalving) {
      action.slice = 1;
    } else {
      action = advanced(action, {.microbatch = 1});
    }
    actions.push_back({start + 3 * p - 1 - stage, action});
  }
};

/// Writes one device's share of an update: units that each start a period after the one before, so that the forwards
/// of a unit fill the tail of the previous one. The last unit may be smaller.
class ChimeraUnitWriter {
 public:
  ChimeraUnitWriter(ListBuilder& list, const ChimeraGrid& grid, std::int64_t device)
      : list_(list),
        grid_(grid),
        last_(grid.num_units() - 1),
        whole_unit_(grid.unit_on(device, std::min(grid.unit(), grid.m))),
        last_unit_(grid.unit_on(device, grid.m - last_ * grid.unit())) {}

  void write() const {
    window(0);
    list_.repeat(last_ - 1, {.microbatch = static_cast<std::int32_t>(grid_.unit())}, [&] { window(1); });
    if (last_ > 0) window(last_);
    for (const SlotAction& late : tail(last_)) add(late, last_);
  }

  /// Reductions that have been put off, and those of pipelines that have nothing to do in the last unit.
  void reduce_rest(std::int64_t device) const {
    for (std::int16_t pipeline = 0; pipeline < 2 * grid_.f; ++pipeline) {
      const auto reduced = [&](const SlotAction& one) {
        return one.action.replica == ReplicaId{pipeline} && reduces_behind(one);
      };
      if (std::any_of(last_unit_.begin(), last_unit_.end(), reduced)) continue;
      const auto stage = static_cast<std::int32_t>(grid_.stage_on(pipeline, device));
      list_.add_collective(StageId{stage}, Op::kReduceGrad, ReplicaId{pipeline});
    }
  }

 private:
  using Part = std::span<const SlotAction>;

  Part unit(std::int64_t number) const { return number == last_ ? last_unit_ : whole_unit_; }
  std::size_t in_period(Part unit) const {
    const auto late = [&](const SlotAction& one) { return one.slot >= grid_.period(); };
    return static_cast<std::size_t>(std::find_if(unit.begin(), unit.end(), late) - unit.begin());
  }
  Part head(std::int64_t number) const { return unit(number).first(in_period(unit(number))); }
  Part tail(std::int64_t number) const { return unit(number).subspan(in_period(unit(number))); }

  /// The first period of unit `number`, merged with the tail of the unit before it.
  void window(std::int64_t number) const {
    const Part before = number > 0 ? tail(number - 1) : Part{};
    auto late = before.begin();
    for (const SlotAction& own : head(number)) {
      for (; late != before.end() && late->slot - grid_.period() < own.slot; ++late) add(*late, number - 1);
      add(own, number);
    }
    for (; late != before.end(); ++late) add(*late, number - 1);
  }

  /// Whether the reduction of a stage begins after `one`, an action of the last unit.
  bool reduces_behind(const SlotAction& one) const {
    if (one.action.op != Op::kB || grid_.sync == Sync::kEnd) return false;
    std::int64_t later = 0;
    for (const SlotAction& other : last_unit_) {
      if (other.slot <= one.slot) continue;
      if (other.action.op == Op::kB && other.action.replica == one.action.replica) return false;
      ++later;
    }
    return grid_.sync == Sync::kEager || last_unit_.back().slot - one.slot > later;
  }

  /// One action of unit `number`, and the reduction that begins after it.
  void add(const SlotAction& one, std::int64_t number) const {
    const Action action = advanced(one.action, {.microbatch = static_cast<std::int32_t>(number * grid_.unit())});
    list_.add_all(std::span(&action, 1));
    if (number != last_ || !reduces_behind(one)) return;
    list_.add_collective(action.stage, Op::kReduceGrad, action.replica);
  }

  ListBuilder& list_;
  const ChimeraGrid& grid_;
  std::int64_t last_;
  std::vector<SlotAction> whole_unit_;
  std::vector<SlotAction> last_unit_;
};

/// Throws for what the grid does not allow.
ChimeraGrid checked_grid(const ScheduleParams& params) {
  require_one_chunk("chimera", params);
  const std::int64_t p = params.num_devices;
  const std::int64_t f = whole_number("chimera", params, "pipelines", 1);
  require(p % 2 == 0, "chimera", "num_devices (" + std::to_string(p) + ") must be even");
  require(p <= 1024, "chimera", "num_devices (" + std::to_string(p) + ") must be at most 1024");
  require(p / 2 % f == 0, "chimera",
          "pipelines (" + std::to_string(f) + ") must divide num_devices / 2 (" + std::to_string(p / 2) + ")");
  const std::string scaling = choice("chimera", params, "scaling", {"direct", "doubling", "halving"});
  const std::string sync = choice("chimera", params, "sync", {"eager", "eager-opt", "end"});
  return {.p = p,
          .f = f,
          .m = params.num_microbatches,
          .scaling = scaling == "direct"     ? Scaling::kDirect
                     : scaling == "doubling" ? Scaling::kDoubling
                                             : Scaling::kHalving,
          .sync = sync == "eager" ? Sync::kEager
                  : sync == "end" ? Sync::kEnd
                                  : Sync::kEagerOpt};
}

Schedule without_lists(const ScheduleParams& params, const ChimeraGrid& grid) {
  Schedule schedule = looped_schedule("chimera", params, 1, updates_or(params, 1));
  schedule.parameters["pipelines"] = grid.f;
  if (grid.scaling != Scaling::kDirect) schedule.parameters["scaling"] = params.options.at("scaling");
  if (grid.sync != Sync::kEager) schedule.parameters["sync"] = params.options.at("sync");
  if (grid.scaling == Scaling::kHalving) schedule.slices = Slices{Slices::Axis::kBatch, {{1, 1}}};
  recompute_choice("chimera", params, schedule, {"never", "always"});
  schedule.placement.assign(static_cast<std::size_t>(2 * grid.f), {});
  for (std::int64_t pipeline = 0; pipeline < 2 * grid.f; ++pipeline) {
    for (std::int64_t stage = 0; stage < grid.p; ++stage) {
      const DeviceId device{static_cast<std::int32_t>(grid.device_of(pipeline, stage))};
      schedule.placement[static_cast<std::size_t>(pipeline)].push_back({device});
    }
  }
  return schedule;
}

}  // namespace

/// 2f pipelines in opposite directions over the same devices, each with its own copy of the model and an equal share
/// of the microbatches. `pipelines=f`, default 1. p even, f divides p/2, any m: the last unit may be smaller. Devices
/// keep between p - p/(2f) + 1 and p activations. How more microbatches than devices are taken is `scaling`: `direct`
/// puts units of p one after another; `doubling` runs two microbatches at once forwards, so that no wait is left
/// between the units (up to 2p activations, hence `recompute=always`); `halving` runs each half of a microbatch on its
/// own backwards (p activations). A stage's copies reduce their gradients as soon as the last local backward is done;
/// `sync=eager-opt` (the paper's eager-sync-opt) only on devices that wait later on, the others and `sync=end` after
/// everything.
/// (Li and Hoefler, Chimera, arXiv 2107.06925, sections 3.1 to 3.5; ParCIS/Chimera; the slots of doubling and halving
/// are ours, with the waits of the paper's figure)
///
///   p = 4, m = 4 (microbatches 2 and 3 go up; reductions and updates left out)
///   d0: 0F0 0F1 1:3F2 1:3B2 1:3F3 1:3B3 0B0 0B1
///   d1: 1F0 1:2F2 1F1 1:2F3 1:2B2 1B0 1:2B3 1B1
///   d2: 1:1F2 2F0 1:1F3 2F1 2B0 1:1B2 2B1 1:1B3
///   d3: 1:0F2 1:0F3 3F0 3B0 3F1 3B1 1:0B2 1:0B3
Schedule chimera(const ScheduleParams& params) {
  const ChimeraGrid grid = checked_grid(params);
  Schedule schedule = without_lists(params, grid);
  for (std::int64_t d = 0; d < grid.p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates_or(params, 1), [&](ListBuilder& list) {
      const ChimeraUnitWriter writer(list, grid, d);
      writer.write();
      writer.reduce_rest(d);
      for (std::int16_t pipeline = 0; pipeline < 2 * grid.f; ++pipeline) {
        const auto stage = static_cast<std::int32_t>(grid.stage_on(pipeline, d));
        list.add(StageId{stage}, Op::kU, 0, ReplicaId{pipeline});
      }
    }));
  }
  return schedule;
}

}  // namespace plumb
