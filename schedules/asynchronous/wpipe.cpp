#include <algorithm>
#include <string>

#include "schedules/generator.hpp"

namespace plumb {
namespace {

/// One device of `wpipe`. Forwards and backwards are two endless streams, m microbatches of one group in turn: forward
/// number n belongs to round n / 2m, the first m of a round to group 0; a round's backwards begin with group 1.
class Device {
 public:
  Device(const ScheduleParams& params, std::int32_t d, std::int64_t rounds)
      : p_(params.num_devices), m_(params.num_microbatches), d_(d), all_(2 * m_ * rounds) {}

  DeviceList write() {
    const std::int64_t warmup = std::min(m_ + p_ - 1 - d_, all_);
    const Advance next{.microbatch = static_cast<std::int32_t>(m_), .update = 1};
    forwards(0, warmup);
    list_.repeat((all_ - warmup) / (2 * m_), next, [&] { round(0, warmup); });
    const std::int64_t begin = (all_ - warmup) / (2 * m_) * (2 * m_);
    turns(begin, all_ - warmup, warmup);
    turns(all_ - warmup, all_, -1);
    return list_.take();
  }

 private:
  void forwards(std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t stop = std::min((begin / m_ + 1) * m_, end);
      list_.each(stop - begin, [&] { add(Op::kF, begin); });
      begin = stop;
    }
  }

  void round(std::int64_t begin, std::int64_t warmup) { turns(begin, begin + 2 * m_, warmup); }

  /// Backwards [begin, end), each behind the forward `ahead` further in its stream (-1: none are left).
  void turns(std::int64_t begin, std::int64_t end, std::int64_t ahead) {
    while (begin < end) {
      const std::int64_t forward = begin + std::max<std::int64_t>(ahead, 0);
      std::int64_t stop = std::min({(begin / m_ + 1) * m_, begin + (forward / m_ + 1) * m_ - forward, end});
      if (ahead < 0) stop = std::min((begin / m_ + 1) * m_, end);
      list_.each(stop - begin, [&] {
        if (ahead >= 0) add(Op::kF, forward);
        add(Op::kB, begin);
      });
      if (stop % m_ == 0) list_.add(stage(Op::kB, stop - 1), Op::kU, (stop - 1) / (2 * m_));
      begin = stop;
    }
  }

  StageId stage(Op op, std::int64_t number) const {
    const std::int64_t block = number / m_ % 2;
    const std::int64_t group = op == Op::kF ? block : 1 - block;
    return StageId{static_cast<std::int32_t>(group * p_ + d_)};
  }

  void add(Op op, std::int64_t number) { list_.add(stage(op, number), op, number / (2 * m_) * m_ + number % m_); }

  std::int64_t p_;
  std::int64_t m_;
  std::int32_t d_;
  std::int64_t all_;  ///< forwards of the device
  ListBuilder list_;
};

}  // namespace

/// Two groups of stages, p each, over the same devices: stages 0 .. p-1 (group 0) and p .. 2p-1 (group 1). All devices
/// take m microbatches through group 0, then through group 1, never flushed, forwards m + p - 1 - d ahead of backwards.
/// So the first forwards of an update in group 0 stand before the last backwards of the update before (group 0 reads
/// version t - 1, two versions), while in group 1 they stand behind (it reads version t, one version).
/// m >= p - 1; device d keeps m + p - d activations at most (of half a stage's size each). The groups and their delays
/// are the paper's; which group is delayed follows from the order of its abstract.
/// (Yang et al., WPipe, Group-based Interleaved Pipeline Parallelism, ICLR 2022)
///
///   p = 2, m = 2, 2 updates (stages 0 and 2 on d0)
///   d0: 0F0 0F1 2F0 2F1 2B0 0F2 2B1 2U0 0F3 0B0 2F2 0B1 0U0 2F3 2B2 2B3 2U1 0B2 0B3 0U1
///   d1: 1F0 1F1 3F0 3B0 3F1 3B1 3U0 1F2 1B0 1F3 1B1 1U0 3F2 3B2 3F3 3B3 3U1 1B2 1B3 1U1
Schedule wpipe(const ScheduleParams& params) {
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(params.chunks == 0 || params.chunks == 2, "wpipe",
          "chunks per device (" + std::to_string(params.chunks) + ") must be 2, one of each group");
  require(
      m >= p - 1, "wpipe",
      "num_microbatches (" + std::to_string(m) + ") must be at least num_devices - 1 (" + std::to_string(p - 1) + ")");
  const std::int64_t updates = updates_or(params, std::clamp<std::int64_t>(kMostMicrobatches / m, 1, 8));
  Schedule schedule = looped_schedule("wpipe", params, 2, updates);
  schedule.parameters["updates"] = updates;
  schedule.weights.policy = WeightPolicy::kDoubleBuffer;
  schedule.weights.per_stage.assign(static_cast<std::size_t>(p), WeightPolicy::kDoubleBuffer);
  schedule.weights.per_stage.resize(static_cast<std::size_t>(2 * p), WeightPolicy::kFlush);
  for (std::int32_t d = 0; d < p; ++d) schedule.devices.push_back(Device(params, d, updates).write());
  return schedule;
}

}  // namespace plumb
