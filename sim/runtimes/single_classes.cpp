#include "sim/runtimes/single_classes.hpp"

#include <algorithm>

#include "schedules/document/list_cursor.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostCompared = 4096;

/// In which order a device runs the passes of an update.
struct PassOrder {
  std::int64_t microbatches = 0;
  std::int64_t warmup = 0;  ///< forwards before the first backward

  /// Returns whether a forward is the next pass after so many of both.
  bool forward_next(std::int64_t forwards, std::int64_t backwards) const {
    return forwards < microbatches && forwards < backwards + warmup;
  }
};

/// Returns whether the passes of an update follow the order; false for what the classes do not run.
bool follows(const DeviceList& list, const PassOrder& order) {
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  for (ListCursor cursor(list); !cursor.at_end() && cursor.position() < kMostCompared; cursor.step()) {
    const Op op = cursor.action().op;
    if (op == Op::kI || op == Op::kW || is_send(op) || is_recv(op)) return false;
    if (op != Op::kF && op != Op::kB) continue;
    if ((op == Op::kF) != order.forward_next(forwards, backwards)) return false;
    ++(op == Op::kF ? forwards : backwards);
    if (backwards == order.microbatches) forwards = backwards = 0;  // the next update
  }
  return true;
}

}  // namespace

SingleClass single_class_of(const Schedule& schedule) {
  const std::int32_t devices = schedule.num_devices;
  if (schedule.num_stages != devices || schedule.policy || std::ssize(schedule.devices) != devices)
    return SingleClass::kNone;
  const std::int64_t microbatches = schedule.per_update(StageId{0});
  bool gpipe = true;
  bool one_by_one = true;
  for (std::int32_t device = 0; device < devices; ++device) {
    const DeviceList& list = schedule.devices[static_cast<std::size_t>(device)];
    gpipe = gpipe && follows(list, {microbatches, microbatches});
    one_by_one = one_by_one && follows(list, {microbatches, std::min<std::int64_t>(microbatches, devices - device)});
  }
  if (gpipe) return SingleClass::kGPipe;
  return one_by_one ? SingleClass::k1F1B : SingleClass::kNone;
}

}  // namespace plumb
