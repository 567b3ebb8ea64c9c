#include "trainer/profile/mirrored_schedule.hpp"

#include <utility>

namespace plumb {
namespace {

/// Every device's list is what the device does of one order of all actions, so no device waits for ever.
class MirroredSchedule {
 public:
  MirroredSchedule(const ProfileShape& shape, bool alone) : shape_(shape), alone_(alone) {
    schedule_.name = "profile-mirrored";
    schedule_.num_devices = shape.devices;
    schedule_.num_stages = shape.stages;
    schedule_.microbatches_per_update = {shape.microbatches};
    schedule_.num_microbatches = shape.microbatches * shape.updates;
    schedule_.placement.resize(2);
    for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
      for (const int copy : {0, 1})
        schedule_.placement[static_cast<std::size_t>(copy)].push_back({device(copy, stage)});
    }
    schedule_.devices.resize(static_cast<std::size_t>(shape.devices));
    for (std::int64_t update = 0; update < shape.updates; ++update) add_update(update);
  }

  Schedule take() { return std::move(schedule_); }

 private:
  /// Returns the device d whose stages [d S / P, (d + 1) S / P) hold this one; the other copy's counts from the end.
  DeviceId device(int copy, std::int32_t stage) const {
    std::int32_t at = 0;
    while (static_cast<std::int64_t>(at + 1) * shape_.stages / shape_.devices <= stage) ++at;
    return DeviceId{copy == 0 ? at : shape_.devices - 1 - at};
  }

  void add(int copy, std::int32_t stage, Op op, std::int64_t number) {
    Action action;
    action.replica = ReplicaId{static_cast<std::int16_t>(copy)};
    action.stage = StageId{stage};
    action.op = op;
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(number)};
    const DeviceId at = device(copy, stage);
    schedule_.devices[index(at)].actions.push_back(action);
    if (!alone_ || op == Op::kReduceGrad) return;
    if (last_at_ != at && index(last_at_) < schedule_.devices.size()) schedule_.extra_edges.push_back({last_, action});
    last_ = action;
    last_at_ = at;
  }

  void add_update(std::int64_t update) {
    const std::int64_t begin = update * shape_.microbatches;
    const auto each = [&](const auto& visit) {
      for (std::int64_t i = 0; i < shape_.microbatches; ++i) visit(static_cast<int>(i % 2), begin + i);
    };
    each([&](int copy, std::int64_t microbatch) {
      for (std::int32_t stage = 0; stage < shape_.stages; ++stage) add(copy, stage, Op::kF, microbatch);
    });
    each([&](int copy, std::int64_t microbatch) {
      for (std::int32_t stage = shape_.stages; stage-- > 0;) add(copy, stage, Op::kI, microbatch);
    });
    for (std::int32_t stage = shape_.stages; stage-- > 0;) {
      each([&](int copy, std::int64_t microbatch) { add(copy, stage, Op::kW, microbatch); });
      if (!alone_) add_reduction(stage);
    }
    for (std::int32_t stage = shape_.stages; alone_ && stage-- > 0;) add_reduction(stage);
    for (std::int32_t stage = shape_.stages; stage-- > 0;) {
      for (const int copy : {0, 1}) add(copy, stage, Op::kU, update);
    }
  }

  void add_reduction(std::int32_t stage) {
    for (const int copy : {0, 1}) add(copy, stage, Op::kReduceGrad, -1);
  }

  ProfileShape shape_;
  bool alone_;
  Schedule schedule_;
  Action last_;
  DeviceId last_at_{-1};  ///< device of the last action; -1: nothing yet
};

}  // namespace

Schedule mirrored_schedule(const ProfileShape& shape, bool alone) { return MirroredSchedule(shape, alone).take(); }

}  // namespace plumb
