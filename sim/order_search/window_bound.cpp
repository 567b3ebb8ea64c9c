#include "sim/order_search/window_bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace plumb {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr double kVast = 1e18;  ///< more work than any: where memory has no limit

/// Work that needs memory: at most `times` of it, `stash` each.
struct KeptWork {
  Ticks time = 0;
  std::int64_t stash = 0;  ///< 0: it needs none
  Ticks most = 0;          ///< in all

  double ratio() const {
    return stash == 0 ? std::numeric_limits<double>::infinity()
                      : static_cast<double>(time) / static_cast<double>(stash);
  }
};

/// No less than `time` * `part` / `whole`.
Ticks share_above(Ticks time, std::int64_t part, std::int64_t whole) {
  if (time == 0 || part <= kLargest / time) return (time * part + whole - 1) / whole;
  const double share = static_cast<double>(time) * static_cast<double>(part) / static_cast<double>(whole);
  return share > kVast ? kLargest : static_cast<Ticks>(std::ceil(share * (1 + 1e-12)));
}

/// No more than that.
Ticks share_below(Ticks time, std::int64_t part, std::int64_t whole) {
  if (time == 0 || part <= kLargest / time) return time * part / whole;
  const double share = static_cast<double>(time) * static_cast<double>(part) / static_cast<double>(whole);
  return static_cast<Ticks>(share * (1 - 1e-12));
}

/// The most work that fits into `limit`; parts of it count in parts.
Ticks most_work(std::vector<KeptWork> items, std::int64_t limit) {
  std::ranges::stable_sort(items, std::greater<>{}, &KeptWork::ratio);
  Ticks sum = 0;
  for (const KeptWork& item : items) {
    if (item.stash == 0) {
      sum += item.most;
      continue;
    }
    const Ticks fits = std::min(item.most, share_above(item.time, limit, item.stash));
    sum += fits;
    if (item.time > 0) limit -= std::min(limit, share_below(item.stash, fits, item.time));
  }
  return sum;
}

/// One device.
class DeviceWindows {
 public:
  DeviceWindows(const BlockProblem& problem, std::int32_t device, const std::vector<std::int32_t>& on, std::int64_t m)
      : problem_(problem), device_(device), on_(on), m_(m) {}

  /// What may run before the first block that takes nothing.
  Ticks before(std::int64_t limit) const {
    std::vector<KeptWork> items;
    for (const std::int32_t b : on_) {
      const WorkBlock& block = problem_.block(b);
      if (block.stash > 0) items.push_back({.time = block.time, .stash = block.stash, .most = m_ * block.time});
    }
    return most_work(std::move(items), limit);
  }

  /// What may run behind the last block that takes something.
  Ticks behind(std::int64_t limit) const {
    std::map<StageId, std::vector<std::int32_t>> rest;
    std::map<StageId, std::int64_t> taken;
    for (const std::int32_t b : on_) {
      const WorkBlock& block = problem_.block(b);
      if (block.stash > 0) {
        taken[block.stage_on(device_)] += block.stash;
      } else {
        rest[block.stage_on(device_)].push_back(b);
      }
    }
    std::vector<KeptWork> items;
    for (const auto& [stage, blocks] : rest) items.push_back(most_kept(blocks, taken[stage]));
    return most_work(std::move(items), limit);
  }

 private:
  /// The most work for its memory that a microbatch of a stage can still have before it.
  KeptWork most_kept(const std::vector<std::int32_t>& blocks, std::int64_t kept) const {
    Ticks left = 0;
    for (const std::int32_t b : blocks) left += problem_.block(b).time;
    const Ticks all = m_ * left;
    KeptWork best;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i > 0 && !follows(blocks[i], blocks[i - 1])) return {.time = 0, .stash = 0, .most = all};
      if (kept <= 0) return {.time = 0, .stash = 0, .most = all};
      const KeptWork one{.time = left, .stash = kept, .most = all};
      if (i == 0 || one.ratio() > best.ratio()) best = one;
      kept += problem_.block(blocks[i]).stash;
      left -= problem_.block(blocks[i]).time;
    }
    return best;
  }

  bool follows(std::int32_t later, std::int32_t earlier) const {
    return std::ranges::any_of(problem_.block(later).inputs,
                               [&](const WorkBlock::Input& input) { return input.block == earlier; });
  }

  const BlockProblem& problem_;
  std::int32_t device_;
  const std::vector<std::int32_t>& on_;
  std::int64_t m_;
};

}  // namespace

Ticks least_by_windows(const BlockProblem& problem, std::int64_t num_microbatches) {
  const std::vector<Ticks> heads = heads_of(problem);
  const std::vector<Ticks> tails = tails_of(problem);
  const std::vector<Ticks> work = work_of(problem);
  const auto on = blocks_by_device(problem);
  Ticks bound = 0;
  for (std::size_t d = 0; d < on.size(); ++d) {
    Ticks head = kLargest;
    Ticks tail = kLargest;
    Ticks head_of_rest = kLargest;
    Ticks tail_of_takers = kLargest;
    Ticks takers = 0;
    for (const std::int32_t b : on[d]) {
      const auto at = static_cast<std::size_t>(b);
      const bool takes = problem.block(b).stash > 0;
      head = std::min(head, heads[at]);
      tail = std::min(tail, tails[at]);
      if (takes) tail_of_takers = std::min(tail_of_takers, tails[at]);
      if (takes) takers += num_microbatches * problem.block(b).time;
      if (!takes) head_of_rest = std::min(head_of_rest, heads[at]);
    }
    if (head_of_rest == kLargest || tail_of_takers == kLargest) continue;
    const DeviceWindows windows(problem, static_cast<std::int32_t>(d), on[d], num_microbatches);
    const Ticks before = windows.before(problem.limits[d]);
    const Ticks behind = windows.behind(problem.limits[d]);
    const Ticks all = num_microbatches * work[d];
    bound = std::max({bound, head_of_rest + all - before + tail, head + all - behind + tail_of_takers});
    if (before < takers) bound = std::max(bound, head_of_rest + all - before - behind + tail_of_takers);
  }
  return bound;
}

}  // namespace plumb
