#include <algorithm>
#include <string>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

constexpr std::string_view kTspipe = "tspipe";
constexpr std::int64_t kMostTeacherPasses = std::int64_t{1} << 20;  ///< of the teacher, over all devices

/// One device of `tspipe`. Every update has `pairs` forwards of two microbatches each, of the student and of the
/// teacher.
struct StudentDevice {
  StageId stage;
  std::int64_t pairs = 0;
  std::int64_t updates = 0;
  std::int64_t in_gap = 0;  ///< teacher's forwards between the last forward and the first backward
  ListBuilder list{};

  DeviceList write() {
    teacher(0, 0, pairs);
    for (std::int64_t u = 0; u < updates; ++u) {
      const bool more = u + 1 < updates;
      for (std::int64_t k = u * pairs; k < (u + 1) * pairs; ++k) list.add_merged(stage, Op::kF, 2 * k, 2);
      if (more) teacher(u + 1, 0, in_gap);
      for (std::int64_t b = 2 * u * pairs; b < 2 * (u + 1) * pairs; ++b) list.add(stage, Op::kB, b);
      list.add(stage, Op::kU, u);
      if (more) teacher(u + 1, in_gap, pairs);
    }
    return list.take();
  }

  /// Its forwards [begin, end) for `update`.
  void teacher(std::int64_t update, std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) list.add(stage, Op::kX, update * pairs + k);
  }
};

/// The teacher's forward of a pair goes down the devices, and the loss, which the last F makes, needs it.
void add_teacher(Schedule& schedule, std::int64_t passes) {
  const std::int32_t last = schedule.num_devices - 1;
  for (std::int64_t k = 0; k < passes; ++k) {
    schedule.extras["X" + std::to_string(k)] = {
        .kind = ExtraWork::Kind::kTeacher, .units = 2, .first_microbatch = 2 * k};
    for (std::int32_t d = 0; d < last; ++d) {
      schedule.extra_edges.push_back({action_of(d, Op::kX, k), action_of(d + 1, Op::kX, k)});
    }
    Action forward = action_of(last, Op::kF, 2 * k);
    forward.merged = 1;
    schedule.extra_edges.push_back({action_of(last, Op::kX, k), forward});
  }
}

}  // namespace

/// A student learns from a teacher, a moving average of it or a network that stays, which only runs forward (an extra
/// action as long as the student's forward). The teacher's forwards of the next batch fill what the student's flush
/// would leave idle: device d runs 2 (p - 1 - d) of them before its first backward and the rest after the last one.
/// Forwards take two microbatches at once, backwards one. The student is synchronous; the teacher of a batch has not
/// seen the update that is under way. What it makes of a microbatch waits on the last device for the student's forward,
/// which makes the loss. With m = 4 (p - 1) (two views of p - 1 microbatches, halved for the backward) and B = 2 F, an
/// update takes m (2 F + B) and no device waits once the pipeline is full. m even and at least 4 (p - 1). Averaging
/// takes no time. Every device keeps m activations. (Lim et al., TSPipe, ICML 2022; released code)
///
///   p = 2, m = 4, 2 updates; {0,1} is a forward of two microbatches
///   d0: 0X0 0X1 0F0+1 0F2+3 0X2 0X3 0B0 0B1 0B2 0B3 0U0 0F4+5 0F6+7 0B4 0B5 0B6 0B7 0U1
///   d1: 1X0 1X1 1F0+1 1F2+3 1B0 1B1 1B2 1B3 1U0 1X2 1X3 1F4+5 1F6+7 1B4 1B5 1B6 1B7 1U1
Schedule tspipe(const ScheduleParams& params) {
  require_one_chunk(kTspipe, params);
  const std::int64_t m = params.num_microbatches;
  const std::int64_t ahead = 2 * std::int64_t{params.num_devices - 1};
  require(m % 2 == 0 && m / 2 >= ahead, kTspipe,
          "num_microbatches (" + std::to_string(m) +
              ") must be even and at least 4 (p - 1) = " + std::to_string(2 * ahead));
  const std::int64_t updates = updates_or(params, 2);
  Schedule schedule = looped_schedule(kTspipe, params, 1, updates);
  const std::int64_t passes = updates * m / 2;
  require(passes <= kMostTeacherPasses / params.num_devices, kTspipe,
          "m x updates x p (" + std::to_string(2 * passes * params.num_devices) + ") must be at most 2^21");
  schedule.parameters["updates"] = updates;
  add_teacher(schedule, passes);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(StudentDevice{StageId{d}, m / 2, updates, ahead - 2 * d}.write());
  }
  return schedule;
}

}  // namespace plumb
