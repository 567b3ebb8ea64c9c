#include <algorithm>

#include "schedules/generator.hpp"
#include "schedules/v_placement.hpp"

namespace plumb {
namespace {

/// One device's list for n = max(m, 2p - 1) microbatches without those that do not exist. X0 and X1 are the chunks
/// going down and coming back.
class ZbvWriter {
 public:
  ZbvWriter(const ScheduleParams& params, std::int32_t device, ListBuilder& list)
      : p_(params.num_devices),
        d_(device),
        m_(params.num_microbatches),
        n_(std::max(m_, 2 * p_ - 1)),
        down_(v_stage(params.num_devices, 0, device)),
        back_(v_stage(params.num_devices, 1, device)),
        list_(list) {}

  void write() {
    const std::int64_t ahead = 2 * p_ - 1 - d_;  // F0 before the steady phase
    const std::int64_t first = 2 * (p_ - d_) - 1;
    each(first, [&](std::int64_t i) { down(Op::kF, i); });
    each(d_, [&](std::int64_t i) { back(Op::kF, i), down(Op::kF, first + i); });
    each(p_ - d_, [&](std::int64_t i) { back(Op::kF, d_ + i), back(Op::kI, i), back(Op::kW, i); });
    const auto turn = [&](std::int64_t i) {
      down(Op::kI, i), down(Op::kW, i);
      back(Op::kF, p_ + i), back(Op::kI, p_ - d_ + i), back(Op::kW, p_ - d_ + i);
    };
    each(n_ - ahead, [&](std::int64_t i) { down(Op::kF, ahead + i), turn(i); });
    each(p_ - 1 - d_, [&](std::int64_t i) { turn(n_ - ahead + i); });
    each(d_, [&](std::int64_t i) { down(Op::kI, n_ - p_ + i), back(Op::kI, n_ - d_ + i); });
    each(p_ - d_, [&](std::int64_t i) { down(Op::kI, n_ - p_ + d_ + i), down(Op::kW, n_ - p_ + i); });
    each(d_, [&](std::int64_t i) { back(Op::kW, n_ - d_ + i); });
    each(d_, [&](std::int64_t i) { down(Op::kW, n_ - d_ + i); });
    list_.add(down_, Op::kU, 0);
    list_.add(back_, Op::kU, 0);
  }

 private:
  /// Folded where all microbatches exist.
  template <class Body>
  void each(std::int64_t count, Body body) {
    if (n_ == m_) {
      list_.each(count, [&] { body(0); });
    } else {
      for (std::int64_t i = 0; i < count; ++i) body(i);
    }
  }

  void down(Op op, std::int64_t microbatch) { add(down_, op, microbatch); }
  void back(Op op, std::int64_t microbatch) { add(back_, op, microbatch); }

  void add(StageId stage, Op op, std::int64_t microbatch) {
    if (microbatch < m_) list_.add(stage, op, microbatch);
  }

  std::int64_t p_;
  std::int64_t d_;
  std::int64_t m_;
  std::int64_t n_;
  StageId down_;
  StageId back_;
  ListBuilder& list_;
};

}  // namespace

/// PyTorch's ScheduleZBVZeroBubble: stages d and 2p - 1 - d on device d, so the first and the last stage share a
/// device and backwards begin early. The order is that of at least 2p - 1 microbatches; with fewer, those that do not
/// exist are left out. Any p and m. Every device keeps 2p stashes of a chunk (p activations) when I frees nothing.
/// (ZB-V: Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362)
///
///   p = 2, m = 3
///   d0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0I0 0W0 3F2 3I2 3W2 0I1 0W1 0I2 0W2 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1I1 2I2 1I2 1W1 2W2 1W2 1U0 2U0
Schedule torch_zbv(const ScheduleParams& params) {
  require(params.chunks == 0 || params.chunks == 2, "torch-zbv",
          "chunks per device (" + std::to_string(params.chunks) + ") must be 2");
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("torch-zbv", params, 2, updates);
  place_in_v(schedule);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(
        repeat_steps(params, updates, [&](ListBuilder& list) { ZbvWriter(params, d, list).write(); }));
  }
  return schedule;
}

}  // namespace plumb
