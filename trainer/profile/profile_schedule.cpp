#include "trainer/profile/profile_schedule.hpp"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

class GroupedSchedule {
 public:
  GroupedSchedule(const ProfileShape& shape, const ProfileKind& kind)
      : stages_(shape.stages), devices_(shape.devices), m_(shape.microbatches), kind_(kind) {
    schedule_.name = kind.copies     ? "profile-copies"
                     : kind.changing ? "profile-changing"
                     : kind.split    ? "profile-split"
                                     : "profile-fused";
    schedule_.num_devices = devices_;
    schedule_.num_stages = stages_;
    schedule_.microbatches_per_update = {m_};
    schedule_.num_microbatches = m_ * shape.updates;
    schedule_.placement.resize(1);
    for (std::int32_t device = 0; device < devices_; ++device) {
      for (std::int32_t stage = first(device); stage < first(device + 1); ++stage) {
        schedule_.placement[0].push_back({DeviceId{device}});
      }
      DeviceList list;
      for (std::int64_t update = 0; update < shape.updates; ++update) add_update(device, update, list);
      schedule_.devices.push_back(std::move(list));
    }
    const bool apart = kind.alone || kind.changing;
    for (std::int64_t update = 0; apart && update < shape.updates; ++update) separate(update);
  }

  Schedule take() { return std::move(schedule_); }

 private:
  std::int32_t first(std::int32_t device) const {
    return static_cast<std::int32_t>(std::int64_t{device} * stages_ / devices_);
  }

  static Action action(std::int32_t stage, Op op, std::int64_t number) {
    Action action;
    action.stage = StageId{stage};
    action.op = op;
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(number)};
    if (is_move(op)) action.where = Action::kHost;
    return action;
  }

  /// What could run beside something else waits for it: after the last input gradient come the weight gradients, then
  /// the updates, from the last stage to the first.
  void separate(std::int64_t update) {
    Action before = action(0, kind_.split ? Op::kI : Op::kB, (update + 1) * m_ - 1);
    const auto append = [&](const Action& next) {
      schedule_.extra_edges.push_back({before, next});
      before = next;
    };
    for (std::int32_t stage = stages_; kind_.split && stage-- > 0;) append(action(stage, Op::kW, update));
    for (std::int32_t device = devices_; device-- > 0;) {
      for (std::int32_t stage = first(device); stage < first(device + 1); ++stage)
        append(action(stage, Op::kU, update));
    }
  }

  static void add(DeviceList& list, std::int32_t stage, Op op, std::int64_t number) {
    list.actions.push_back(action(stage, op, number));
  }

  void add_update(std::int32_t device, std::int64_t update, DeviceList& list) const {
    const std::int64_t begin = update * m_;
    const bool rests = kind_.changing && update % 2 == 0;
    const std::int64_t warmup = kind_.crowded ? m_ : rests ? 0 : std::min<std::int64_t>(devices_ - 1 - device, m_);
    // As in zero-bubble schedules: what a late W reads has left the caches, and it takes longer.
    const std::int64_t put_off = std::min<std::int64_t>(device, m_);
    for (std::int64_t i = 0; i < warmup; ++i) add_forward(device, begin + i, list);
    for (std::int64_t i = 0; i < m_; ++i) {
      if (warmup + i < m_) add_forward(device, begin + warmup + i, list);
      add_backwards(device, kind_.split ? Op::kI : Op::kB, begin + i, list);
      if (kind_.split && i >= put_off) add_backwards(device, Op::kW, begin + i - put_off, list);
    }
    for (std::int64_t i = m_ - put_off; kind_.split && i < m_; ++i) add_backwards(device, Op::kW, begin + i, list);
    for (std::int32_t stage = first(device); stage < first(device + 1); ++stage) add(list, stage, Op::kU, update);
  }

  void add_forward(std::int32_t device, std::int64_t microbatch, DeviceList& list) const {
    for (std::int32_t stage = first(device); stage < first(device + 1); ++stage) {
      add(list, stage, Op::kF, microbatch);
      if (kind_.copies) add(list, stage, Op::kEvict, microbatch);
    }
  }

  void add_backwards(std::int32_t device, Op op, std::int64_t microbatch, DeviceList& list) const {
    for (std::int32_t stage = first(device + 1); stage-- > first(device);) {
      if (kind_.copies) add(list, stage, Op::kLoad, microbatch);
      add(list, stage, op, microbatch);
    }
  }

  std::int32_t stages_;
  std::int32_t devices_;
  std::int64_t m_;
  ProfileKind kind_;
  Schedule schedule_;
};

}  // namespace

Schedule profile_schedule(const ProfileShape& shape, const ProfileKind& kind) {
  return GroupedSchedule(shape, kind).take();
}

}  // namespace plumb
