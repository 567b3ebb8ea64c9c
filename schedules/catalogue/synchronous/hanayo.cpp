#include <algorithm>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// Forwards and backwards of one step that are written out at most; the order of a wave has no period to fold.
constexpr std::int64_t kMostWaveUnits = std::int64_t{1} << 24;

/// A forward or backward of one stage, and where a device's preference puts it: lower first.
struct WaveUnit {
  std::int32_t preference = 0;
  std::int64_t microbatch = 0;
  std::int32_t minus_stage = 0;  ///< later stages first
  Op op{};

  friend auto operator<=>(const WaveUnit&, const WaveUnit&) = default;
};

/// Plays one step of unit time (F = 1, B = 2, transfers free): whenever a device is idle it takes the unit that it
/// prefers among those whose inputs are there. The order in which units start is the schedule.
class WavePlay {
 public:
  WavePlay(std::int32_t p, std::int32_t chunks, std::int64_t m)
      : p_(p),
        num_stages_(p * chunks),
        m_(m),
        ready_(static_cast<std::size_t>(p)),
        idle_(ready_.size(), true),
        lists_(ready_.size()) {}

  std::vector<std::vector<WaveUnit>> play() {
    for (std::int64_t microbatch = 0; microbatch < m_; ++microbatch) make_ready(Op::kF, 0, microbatch);
    for (std::int64_t now = 0;;) {
      for (std::size_t device = 0; device < ready_.size(); ++device) start(device, now);
      if (running_.empty()) return std::move(lists_);
      now = std::get<0>(running_.top());
      while (!running_.empty() && std::get<0>(running_.top()) == now) {
        const auto [end, device, unit] = running_.top();
        running_.pop();
        idle_[device] = true;
        finish(unit);
      }
    }
  }

 private:
  std::size_t device_of(std::int32_t stage) const {
    const std::int32_t at = stage % p_;
    return static_cast<std::size_t>(stage / p_ % 2 == 0 ? at : p_ - 1 - at);
  }

  /// Up to p microbatches: backwards first. More: forwards that are on their way first, new ones last.
  void make_ready(Op op, std::int32_t stage, std::int64_t microbatch) {
    const bool forward = op == Op::kF;
    const bool entering = forward && stage == 0;
    const std::int32_t preference = m_ <= p_ ? (forward ? 1 : 0) : entering ? 2 : forward ? 0 : 1;
    ready_[device_of(stage)].insert({preference, microbatch, -stage, op});
  }

  void start(std::size_t device, std::int64_t now) {
    if (!idle_[device] || ready_[device].empty()) return;
    const WaveUnit unit = *ready_[device].begin();
    const bool enters = unit.op == Op::kF && unit.minus_stage == 0;
    if (enters && m_ > p_ && inside_ >= 2 * p_) return;  // nothing preferred to it is ready either
    if (enters) ++inside_;
    ready_[device].erase(ready_[device].begin());
    idle_[device] = false;
    running_.emplace(now + (unit.op == Op::kF ? 1 : 2), device, unit);
    lists_[device].push_back(unit);
  }

  void finish(const WaveUnit& unit) {
    const std::int32_t stage = -unit.minus_stage;
    if (unit.op == Op::kF && stage + 1 < num_stages_) {
      make_ready(Op::kF, stage + 1, unit.microbatch);
    } else if (unit.op == Op::kF) {
      make_ready(Op::kB, stage, unit.microbatch);
    } else if (stage > 0) {
      make_ready(Op::kB, stage - 1, unit.microbatch);
    } else {
      --inside_;
    }
  }

  using Running = std::tuple<std::int64_t, std::size_t, WaveUnit>;  // end, device

  std::int32_t p_;
  std::int32_t num_stages_;
  std::int64_t m_;
  std::int64_t inside_ = 0;  ///< microbatches between their first forward and their last backward
  std::vector<std::set<WaveUnit>> ready_;
  std::vector<bool> idle_;
  std::vector<std::vector<WaveUnit>> lists_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
};

}  // namespace

/// Waves: v = 2W chunks per device; stages run down the devices and back up W times, with both turning points local.
/// The shape of Chimera with one copy of the model. The paper draws the order and gives no generator; ours is the
/// outcome of its rule at F = 1, B = 2: an idle device takes a backward first (with more than p microbatches: a
/// forward that is on its way first, and 2p microbatches are inside at most), then the earliest microbatch, then the
/// latest stage. Devices keep at most p activations for m <= p. Any p and m; v even, default 2 (one wave).
/// (Hanayo: Liu et al., arXiv 2308.15762)
///
///   p = 2, v = 2, m = 2
///   d0: 0F0 0F1 3F0 3B0 3F1 3B1 0B0 0B1 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 2B0 1B0 2B1 1B1 1U0 2U0
Schedule hanayo(const ScheduleParams& params) {
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  const std::int32_t chunks = params.chunks > 0 ? params.chunks : 2;
  require(chunks % 2 == 0, "hanayo",
          "chunks per device (" + std::to_string(chunks) + ") must be even, two for each wave");
  require(m <= kMostWaveUnits / (2 * std::int64_t{p} * chunks), "hanayo",
          "num_microbatches (" + std::to_string(m) + ") must be at most " +
              std::to_string(kMostWaveUnits / (2 * std::int64_t{p} * chunks)) + " with " + std::to_string(p * chunks) +
              " stages");
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("hanayo", params, chunks, updates);
  for (std::int32_t stage = p; stage < schedule.num_stages; ++stage) {
    if (stage / p % 2 == 1) schedule.placement[0][static_cast<std::size_t>(stage)] = {DeviceId{p - 1 - stage % p}};
  }
  const auto lists = WavePlay(p, chunks, m).play();
  for (std::int32_t d = 0; d < p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      for (const WaveUnit& unit : lists[static_cast<std::size_t>(d)]) {
        list.add(StageId{-unit.minus_stage}, unit.op, unit.microbatch);
      }
      for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
        list.add(StageId{chunk * p + (chunk % 2 == 0 ? d : p - 1 - d)}, Op::kU, 0);
      }
    }));
  }
  return schedule;
}

}  // namespace plumb
