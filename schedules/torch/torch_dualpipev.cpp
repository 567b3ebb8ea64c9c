#include <array>
#include <utility>
#include <vector>

#include "schedules/generator.hpp"
#include "schedules/v_placement.hpp"

namespace plumb {
namespace {

/// One device's list. X0 and X1 are the chunks going down and coming back; w weight gradients are left over by I in the
/// order in which they are taken.
class DualPipeVWriter {
 public:
  DualPipeVWriter(std::int32_t num_devices, std::int32_t device, std::int64_t m, ListBuilder& list)
      : p_(num_devices),
        d_(device),
        m_(m),
        stages_{v_stage(num_devices, 0, device), v_stage(num_devices, 1, device)},
        list_(list) {}

  void write() {
    const std::int64_t before = p_ - d_ - 1;  // how far the last device is away
    list_.each(2 * before, [&] { add(0, Op::kF, 0); });
    list_.each(d_ + 1, [&] { add(0, Op::kF, 2 * before), add(1, Op::kF, 0); });
    list_.each(before, [&] { add(1, Op::kI, 0), add(1, Op::kW, 0), add(1, Op::kF, d_ + 1); });
    steady(m_ - 2 * p_ + d_ + 1);
    list_.each(before, [&] {
      add(1, Op::kB, m_ - p_);
      list_.add_pair(stages_[1], m_ - before, stages_[0], m_ - 2 * p_ + d_ + 1);
    });
    switch_to_input();
    drain();
  }

 private:
  void add(std::size_t chunk, Op op, std::int64_t microbatch) { list_.add(stages_[chunk], op, microbatch); }

  /// `count` times {F0|B1} {F1|B0}; on the last device the first of all is not overlapped.
  void steady(std::int64_t count) {
    const auto turn = [&](std::int64_t first, bool apart) {
      const std::int64_t f0 = 2 * p_ - d_ - 1 + first;
      const std::int64_t b1 = p_ - d_ - 1 + first;
      if (apart) {
        add(0, Op::kF, f0), add(1, Op::kB, b1);
      } else {
        list_.add_pair(stages_[0], f0, stages_[1], b1);
      }
      list_.add_pair(stages_[1], p_ + first, stages_[0], first);
    };
    const std::int64_t apart = d_ == p_ - 1 ? 1 : 0;
    if (apart != 0) turn(0, true);
    list_.each(count - apart, [&] { turn(apart, false); });
  }

  /// d + 1 times B1 B0; from the middle on I takes the place of B.
  void switch_to_input() {
    const std::int64_t middle = d_ + 1;  // backwards before the switch
    for (std::int64_t i = 0; i < 2 * (d_ + 1); ++i) {
      const std::size_t chunk = i % 2 == 0 ? 1 : 0;
      const std::int64_t done = chunk == 1 ? m_ - d_ - 1 : m_ - p_;
      add(chunk, i < middle ? Op::kB : Op::kI, done + i / 2);
      if (i >= middle) left_over_.push_back({stages_[chunk], done + i / 2});
    }
  }

  /// The rest of I0, each behind the oldest W left over; then all W.
  void drain() {
    for (std::int64_t i = m_ - p_ + d_ + 1; i < m_; ++i) {
      take();
      add(0, Op::kI, i);
      left_over_.push_back({stages_[0], i});
    }
    while (taken_ < left_over_.size()) take();
  }

  void take() {
    const auto& [stage, microbatch] = left_over_[taken_++];
    list_.add(stage, Op::kW, microbatch);
  }

  std::int64_t p_;
  std::int64_t d_;
  std::int64_t m_;
  std::array<StageId, 2> stages_;
  ListBuilder& list_;
  std::vector<std::pair<StageId, std::int64_t>> left_over_;
  std::size_t taken_ = 0;
};

}  // namespace

/// PyTorch's ScheduleDualPipeV: stages d and 2p - 1 - d on device d; in the steady phase a forward of one chunk runs
/// overlapped with a backward of the other, and weight gradients fill the drain. Needs m >= 2p.
/// (DeepSeek's DualPipeV, github.com/deepseek-ai/DualPipe; PyTorch's order is the same)
///
///   p = 2, m = 4           {a|b} is (a;b)OVERLAP_F_B
///   d0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 {0F3|3B1} {3F2|0B0} 3B2 {3F3|0B1} 3B3 0I2 0W2 0I3 0W3 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 1F2 2B0 {2F2|1B0} {1F3|2B1} {2F3|1B1} 2B2 1B2 2I3 1I3 2W3 1W3 1U0 2U0
Schedule torch_dualpipev(const ScheduleParams& params) {
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(params.chunks == 0 || params.chunks == 2, "torch-dualpipev",
          "chunks per device (" + std::to_string(params.chunks) + ") must be 2");
  require(
      m >= 2 * std::int64_t{p}, "torch-dualpipev",
      "num_microbatches (" + std::to_string(m) + ") must be at least 2 num_devices (" + std::to_string(2 * p) + ")");
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("torch-dualpipev", params, 2, updates);
  place_in_v(schedule);
  for (std::int32_t d = 0; d < p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      DualPipeVWriter(p, d, m, list).write();
      list.add(v_stage(p, 0, d), Op::kU, 0);
      list.add(v_stage(p, 1, d), Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
