#include "sim/order_search/makespan_bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "sim/order_search/pair_savings.hpp"

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
  if (time == 0 || part <= kLargest / time) return time * part / whole + (time * part % whole == 0 ? 0 : 1);
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

constexpr Ticks kNoPath = -1;

/// Longest chains of one microbatch between all blocks.
class BlockChains {
 public:
  explicit BlockChains(const BlockProblem& problem)
      : problem_(problem), size_(problem.blocks.size()), from_(size_ * size_, kNoPath) {
    for (std::size_t first = 0; first < size_; ++first) {
      from_[first * size_ + first] = problem.blocks[first].time;
      for (std::size_t b = first + 1; b < size_; ++b) {
        for (const WorkBlock::Input& input : problem.blocks[b].inputs) {
          const Ticks before = from_[first * size_ + static_cast<std::size_t>(input.block)];
          Ticks& longest = from_[first * size_ + b];
          if (before >= 0) longest = std::max(longest, before + input.delay + problem.blocks[b].time);
        }
      }
    }
  }

  /// From the start of `first` to the end of `last`; -1: they are not on one chain.
  Ticks from_to(std::int32_t first, std::int32_t last) const {
    return from_[static_cast<std::size_t>(first) * size_ + static_cast<std::size_t>(last)];
  }
  bool leads_to(std::int32_t first, std::int32_t last) const { return from_to(first, last) >= 0; }

  /// What a microbatch keeps on a device of blocks `on` at least, from the start of `takes` to the end of `frees`.
  std::int64_t kept(const std::vector<std::int32_t>& on, std::int32_t takes, std::int32_t frees) const {
    std::int64_t kept = 0;
    for (const std::int32_t b : on) {
      const WorkBlock& block = problem_.block(b);
      if (block.stash <= 0 || !leads_to(b, takes)) continue;
      kept += block.stash;
      for (const std::int32_t c : on) {
        const WorkBlock& other = problem_.block(c);
        if (other.stash < 0 && is_of_same(other, block) && !leads_to(frees, c)) kept += other.stash;
      }
    }
    return kept;
  }

  /// What is open on the device when `takes` of a microbatch starts, of that microbatch alone, at least.
  std::int64_t open_at(const std::vector<std::int32_t>& on, std::int32_t takes) const {
    std::int64_t open = 0;
    for (const std::int32_t b : on) {
      const WorkBlock& block = problem_.block(b);
      if (block.stash > 0 && leads_to(b, takes)) open += block.stash;
      if (block.stash < 0 && !leads_to(takes, b)) open += block.stash;
    }
    return std::max(open, problem_.block(takes).stash);
  }

  /// Stash times time of one microbatch on a device, at least: every freeing pass ends that part of what its stage
  /// took. Nothing where passes of a stage are not on one chain.
  std::optional<Ticks> stash_time(const std::vector<std::int32_t>& on) const {
    Ticks sum = 0;
    for (const std::int32_t taker : on) {
      if (problem_.block(taker).stash <= 0) continue;
      std::int64_t left = problem_.block(taker).stash;
      for (const std::int32_t c : on) {
        const WorkBlock& other = problem_.block(c);
        if (other.stash >= 0 || !is_of_same(other, problem_.block(taker))) continue;
        if (!leads_to(taker, c)) return std::nullopt;
        sum += -other.stash * from_to(taker, c);
        left += other.stash;
      }
      if (left != 0) return std::nullopt;
    }
    return sum;
  }

 private:
  /// Of one stage, on some device, and one of the microbatches of the problem's blocks.
  static bool is_of_same(const WorkBlock& one, const WorkBlock& other) {
    const auto is_shared = [&](std::int32_t device) {
      const bool there = std::ranges::find(other.devices, device) != other.devices.end();
      return there && one.stage_on(device) == other.stage_on(device);
    };
    return one.action.microbatch == other.action.microbatch && std::ranges::any_of(one.devices, is_shared);
  }

  const BlockProblem& problem_;
  std::size_t size_;
  std::vector<Ticks> from_;
};

template <class Value>
Ticks least_of(const std::vector<std::int32_t>& on, Value value) {
  Ticks least = std::numeric_limits<Ticks>::max();
  for (const std::int32_t b : on) least = std::min(least, value(static_cast<std::size_t>(b)));
  return least;
}

bool has_limit(std::int64_t limit) { return limit < std::numeric_limits<std::int64_t>::max() / 8; }

constexpr Ticks kNoCost = std::numeric_limits<Ticks>::max() / 4;

/// Of two blocks of one device in a pair; of several devices' blocks, which are in none, one after the other.
Ticks pair_of_blocks(const StageCosts& costs, double speed, const WorkBlock& one, const WorkBlock& other) {
  if (one.devices.size() > 1 || other.devices.size() > 1) return one.time + other.time;
  return ticks_of_pair(costs, {one.action.stage, one.action.op, one.time},
                       {other.action.stage, other.action.op, other.time}, speed);
}

/// The cheapest assignment of rows to columns, by the Hungarian method: rows come one after another, each by a path
/// along which columns change hands; no column is cheaper than what its row and it are worth together.
class CheapestAssignment {
 public:
  explicit CheapestAssignment(const std::vector<std::vector<Ticks>>& cost)
      : cost_(cost), row_worth_(cost.size() + 1), column_worth_(cost.size() + 1), row_of_(cost.size() + 1) {
    for (std::size_t row = 1; row <= cost.size(); ++row) add(row);
  }

  Ticks sum() const { return -column_worth_[0]; }

 private:
  /// Rows and columns count from 1; column 0 holds the row that is added.
  void add(std::size_t row) {
    std::vector<Ticks> slack(row_of_.size(), kNoCost);
    std::vector<std::size_t> from(row_of_.size(), 0);
    std::vector<bool> reached(row_of_.size(), false);
    row_of_[0] = row;
    std::size_t column = 0;
    while (row_of_[column] != 0) column = reach_next(column, slack, from, reached);
    while (column != 0) {
      row_of_[column] = row_of_[from[column]];
      column = from[column];
    }
  }

  std::size_t reach_next(std::size_t column, std::vector<Ticks>& slack, std::vector<std::size_t>& from,
                         std::vector<bool>& reached) {
    reached[column] = true;
    const std::size_t row = row_of_[column];
    std::size_t next = 0;
    for (std::size_t j = 1; j < slack.size(); ++j) {
      if (reached[j]) continue;
      const Ticks left = cost_[row - 1][j - 1] - row_worth_[row] - column_worth_[j];
      if (left < slack[j]) {
        slack[j] = left;
        from[j] = column;
      }
      if (next == 0 || slack[j] < slack[next]) next = j;
    }
    const Ticks least = slack[next];
    for (std::size_t j = 0; j < slack.size(); ++j) {
      if (reached[j]) {
        row_worth_[row_of_[j]] += least;
        column_worth_[j] -= least;
      } else {
        slack[j] -= least;
      }
    }
    return next;
  }

  const std::vector<std::vector<Ticks>>& cost_;
  std::vector<Ticks> row_worth_;
  std::vector<Ticks> column_worth_;
  std::vector<std::size_t> row_of_;  ///< by column; 0: none
};

/// What pairs can leave of a device whose blocks have these costs in pairs: above so many kinds of passes only what
/// holds for each alone.
Ticks twice_least_work(const std::vector<std::vector<Ticks>>& cost) {
  constexpr std::size_t kMostKinds = 300;
  if (cost.size() <= kMostKinds) return CheapestAssignment(cost).sum();
  Ticks sum = 0;
  for (const std::vector<Ticks>& row : cost) sum += std::ranges::min(row);
  return sum;
}

void raise(LeastRate& least, Ticks ticks, std::int64_t microbatches) {
  if (ticks * least.microbatches > least.ticks * microbatches) least = {ticks, microbatches};
}

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

std::vector<MemoryRound> memory_rounds(const BlockProblem& problem) {
  std::vector<MemoryRound> rounds;
  const BlockChains chains(problem);
  const auto on = blocks_by_device(problem);
  for (std::size_t d = 0; d < on.size(); ++d) {
    if (!has_limit(problem.limits[d])) continue;
    for (const std::int32_t takes : on[d]) {
      if (problem.block(takes).stash <= 0) continue;
      for (const std::int32_t frees : on[d]) {
        if (problem.block(frees).stash >= 0 || !chains.leads_to(takes, frees)) continue;
        const std::int64_t kept = chains.kept(on[d], takes, frees);
        if (kept <= 0) continue;
        const std::int64_t rest = problem.limits[d] - chains.open_at(on[d], takes);
        rounds.push_back(
            {.takes = takes, .frees = frees, .apart = rest / kept + 1, .round = chains.from_to(takes, frees)});
      }
    }
  }
  return rounds;
}

Ticks least_makespan(const BlockProblem& problem, std::int64_t num_microbatches) {
  const std::int64_t m = num_microbatches;
  const std::vector<Ticks> heads = heads_of(problem);
  const std::vector<Ticks> tails = tails_of(problem);
  const auto on = blocks_by_device(problem);
  const std::vector<Ticks> work = work_of(problem);
  const BlockChains chains(problem);
  Ticks bound = least_by_windows(problem, m);
  for (std::size_t b = 0; b < heads.size(); ++b) {
    bound = std::max(bound, heads[b] + m * problem.blocks[b].time + tails[b]);
  }
  for (std::size_t d = 0; d < on.size(); ++d) {
    if (on[d].empty()) continue;
    const Ticks head = least_of(on[d], [&](std::size_t b) { return heads[b]; });
    const Ticks tail = least_of(on[d], [&](std::size_t b) { return tails[b]; });
    bound = std::max(bound, head + m * work[d] + tail);
    const auto kept = chains.stash_time(on[d]);
    if (!kept || !has_limit(problem.limits[d])) continue;
    bound = std::max(bound, head + (m * *kept + problem.limits[d] - 1) / problem.limits[d] + tail);
  }
  for (const MemoryRound& round : memory_rounds(problem)) {
    const auto takes = static_cast<std::size_t>(round.takes);
    const Ticks time = problem.blocks[takes].time;
    const Ticks last = heads[takes] + (m - 1) / round.apart * round.round + (m - 1) % round.apart * time;
    bound = std::max(bound, last + time + tails[takes]);
  }
  return bound;
}

LeastRate least_rate(const BlockProblem& problem) {
  LeastRate least;
  const BlockChains chains(problem);
  const auto on = blocks_by_device(problem);
  const std::vector<Ticks> work = work_of(problem);
  for (std::size_t d = 0; d < on.size(); ++d) {
    raise(least, work[d], 1);
    const auto kept = chains.stash_time(on[d]);
    // The limit in place of a number of microbatches, where it stays small enough to be multiplied.
    if (kept && has_limit(problem.limits[d]) && problem.limits[d] < (std::int64_t{1} << 20)) {
      raise(least, *kept, problem.limits[d]);
    }
  }
  for (const MemoryRound& round : memory_rounds(problem)) raise(least, round.round, round.apart);
  return least;
}

PairedWork shorten_by_pairs(BlockProblem& problem, const StageCosts& costs, const Cluster* cluster) {
  const auto on = blocks_by_device(problem);
  PairedWork work{.twice_work = std::vector<Ticks>(on.size()), .twice_each = std::vector<Ticks>(problem.blocks.size())};
  std::vector<Ticks> shortest(problem.blocks.size());
  for (std::size_t d = 0; d < on.size(); ++d) {
    const double speed = cluster == nullptr ? 1.0 : cluster->devices[d].speed;
    std::vector<std::vector<Ticks>> cost(on[d].size(), std::vector<Ticks>(on[d].size()));
    for (std::size_t i = 0; i < on[d].size(); ++i) {
      const WorkBlock& one = problem.block(on[d][i]);
      Ticks& least = shortest[static_cast<std::size_t>(on[d][i])] = one.time;
      for (std::size_t j = 0; j < on[d].size(); ++j) {
        const WorkBlock& other = problem.block(on[d][j]);
        cost[i][j] = pair_of_blocks(costs, speed, one, other);
        work.saves = work.saves || cost[i][j] < one.time + other.time;
        least = std::min(least, cost[i][j]);
      }
      cost[i][i] = std::min(cost[i][i], 2 * one.time);
      work.twice_each[static_cast<std::size_t>(on[d][i])] = std::min(cost[i][i], 2 * least);
    }
    work.twice_work[d] = on[d].empty() ? 0 : twice_least_work(cost);
  }
  for (std::size_t b = 0; b < shortest.size(); ++b) problem.blocks[b].time = shortest[b];
  return work;
}

Ticks least_makespan_with_pairs(const BlockProblem& problem, const PairedWork& work, std::int64_t num_microbatches) {
  const std::int64_t m = num_microbatches;
  const std::vector<Ticks> heads = heads_of(problem);
  const std::vector<Ticks> tails = tails_of(problem);
  const auto on = blocks_by_device(problem);
  Ticks bound = 0;
  for (std::size_t b = 0; b < heads.size(); ++b) {
    bound = std::max(bound, heads[b] + std::max(problem.blocks[b].time, m * work.twice_each[b] / 2) + tails[b]);
  }
  for (std::size_t d = 0; d < on.size(); ++d) {
    if (on[d].empty()) continue;
    Ticks head = kNoCost;
    Ticks tail = kNoCost;
    for (const std::int32_t b : on[d]) {
      head = std::min(head, heads[static_cast<std::size_t>(b)]);
      tail = std::min(tail, tails[static_cast<std::size_t>(b)]);
    }
    bound = std::max(bound, head + m * work.twice_work[d] / 2 + tail);
  }
  for (const MemoryRound& round : memory_rounds(problem)) {
    const auto takes = static_cast<std::size_t>(round.takes);
    // The last of those left over may be in a pair with the one before it.
    const std::int64_t left = std::max<std::int64_t>(0, (m - 1) % round.apart - 1);
    const Ticks last = heads[takes] + (m - 1) / round.apart * round.round + left * work.twice_each[takes] / 2;
    bound = std::max(bound, last + problem.blocks[takes].time + tails[takes]);
  }
  return bound;
}

OrderBounds order_bounds(const BlockProblem& problem, const StageCosts& costs, const Cluster* cluster,
                         std::int64_t num_microbatches) {
  BlockProblem shortened = problem;
  const PairedWork work = shorten_by_pairs(shortened, costs, cluster);
  if (!work.saves) return {.makespan = least_makespan(problem, num_microbatches), .rate = least_rate(problem)};
  OrderBounds bounds{
      .makespan = least_makespan_with_pairs(shortened, work, num_microbatches), .rate = {}, .with_pairs = true};
  for (const Ticks twice : work.twice_work) raise(bounds.rate, twice, 2);
  for (const MemoryRound& round : memory_rounds(shortened)) raise(bounds.rate, round.round, round.apart);
  return bounds;
}

}  // namespace plumb
