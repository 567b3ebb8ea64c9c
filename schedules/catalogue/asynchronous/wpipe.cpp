#include <algorithm>
#include <string>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// One device of `wpipe`. Forwards and backwards are two endless streams, m microbatches of one group in turn: forward
/// number n belongs to round n / 2m, the first m of a round to group 0; a round's backwards begin with group 1.
class WPipeDevice {
 public:
  WPipeDevice(const ScheduleParams& params, std::int32_t d, std::int64_t rounds)
      : p_(params.num_devices),
        m_(params.num_microbatches),
        d_(d),
        all_(2 * m_ * rounds),
        ahead_(std::min(m_ + p_ - 1 - d, all_)) {}

  DeviceList write() {
    forwards();
    const std::int64_t turns_in_all = all_ - ahead_;
    const std::int64_t round = 2 * m_;
    const Advance next{.microbatch = static_cast<std::int32_t>(m_), .update = 1};
    list_.repeat(turns_in_all / round, next, [&] { turns(0, round); });
    turns(turns_in_all / round * round, turns_in_all);
    drain();
    return list_.take();
  }

 private:
  /// Where the m microbatches of one group end to which number `n` of a stream belongs.
  std::int64_t block_end(std::int64_t n) const { return (n / m_ + 1) * m_; }

  void forwards() {
    for (std::int64_t f = 0; f < ahead_;) {
      const std::int64_t stop = std::min(block_end(f), ahead_);
      list_.each(stop - f, [&] { add(Op::kF, f); });
      f = stop;
    }
  }

  /// Backwards [begin, end), each after the forward that is `ahead_` further in its stream.
  void turns(std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t f = begin + ahead_;
      const std::int64_t stop = std::min({block_end(begin), begin + block_end(f) - f, end});
      list_.each(stop - begin, [&] {
        add(Op::kF, f);
        add(Op::kB, begin);
      });
      update_behind(stop);
      begin = stop;
    }
  }

  void drain() {
    for (std::int64_t b = all_ - ahead_; b < all_;) {
      const std::int64_t stop = block_end(b);
      list_.each(stop - b, [&] { add(Op::kB, b); });
      update_behind(stop);
      b = stop;
    }
  }

  void update_behind(std::int64_t backwards) {
    if (backwards % m_ == 0) list_.add(stage(Op::kB, backwards - 1), Op::kU, (backwards - 1) / (2 * m_));
  }

  StageId stage(Op op, std::int64_t n) const {
    const std::int64_t block = n / m_ % 2;
    const std::int64_t group = op == Op::kF ? block : 1 - block;
    return StageId{static_cast<std::int32_t>(group * p_ + d_)};
  }

  void add(Op op, std::int64_t n) { list_.add(stage(op, n), op, n / (2 * m_) * m_ + n % m_); }

  std::int64_t p_;
  std::int64_t m_;
  std::int32_t d_;
  std::int64_t all_;    ///< forwards of the device
  std::int64_t ahead_;  ///< forwards that stand before the first backward
  ListBuilder list_;
};

}  // namespace

/// Two groups of stages, p each, over the same devices: stages 0 .. p-1 (group 0) and p .. 2p-1 (group 1). All devices
/// take m microbatches through group 0, then through group 1, never flushed, forwards m + p - 1 - d ahead of backwards.
/// So the first forwards of an update in group 0 stand before the last backwards of the update before (group 0 reads
/// version t - 1, two versions), while in group 1 they come after (it reads version t, one version).
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
  for (std::int32_t d = 0; d < p; ++d) schedule.devices.push_back(WPipeDevice(params, d, updates).write());
  return schedule;
}

}  // namespace plumb
