#include "sim/order_search/makespan_bound.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "sim/order_search/window_bound.hpp"

namespace plumb {
namespace {

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
        const bool same_stage = other.action.stage == block.action.stage;
        if (other.stash < 0 && same_stage && !leads_to(frees, c)) kept += other.stash;
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
        if (other.stash >= 0 || other.action.stage != problem_.block(taker).action.stage) continue;
        if (!leads_to(taker, c)) return std::nullopt;
        sum += -other.stash * from_to(taker, c);
        left += other.stash;
      }
      if (left != 0) return std::nullopt;
    }
    return sum;
  }

 private:
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

}  // namespace

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
    if (!kept || *kept == 0 || !has_limit(problem.limits[d])) continue;
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
  const auto raise = [&least](Ticks ticks, std::int64_t microbatches) {
    if (ticks * least.microbatches > least.ticks * microbatches) least = {ticks, microbatches};
  };
  const BlockChains chains(problem);
  const auto on = blocks_by_device(problem);
  const std::vector<Ticks> work = work_of(problem);
  for (std::size_t d = 0; d < on.size(); ++d) {
    raise(work[d], 1);
    const auto kept = chains.stash_time(on[d]);
    // The limit in place of a number of microbatches, where it stays small enough to be multiplied.
    if (kept && has_limit(problem.limits[d]) && problem.limits[d] < (std::int64_t{1} << 20)) {
      raise(*kept, problem.limits[d]);
    }
  }
  for (const MemoryRound& round : memory_rounds(problem)) raise(round.round, round.apart);
  return least;
}

}  // namespace plumb
