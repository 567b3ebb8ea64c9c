#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sim/order_search/block_problem.hpp"

namespace plumb {

/// What repeats: the blocks of `microbatches` microbatches, again every `period`. The blocks of later microbatches
/// start whole periods later.
struct Repetend {
  std::int32_t microbatches = 1;
  Ticks period = 0;
  std::vector<Ticks> starts;  ///< by block, then microbatch: `starts[b * microbatches + j]`; the smallest is 0

  Ticks start(std::int32_t block, std::int32_t j) const {
    return starts[static_cast<std::size_t>(block * microbatches + j)];
  }
};

/// The tree of `search_repetend` for one period: longest paths between all blocks, and for every pair of blocks of a
/// device the values that are left for c.
class RepetendTree {
 public:
  /// `most_span`: no longer than that from the first start to the last end of the microbatches of one period.
  RepetendTree(const BlockProblem& problem, std::int32_t microbatches, Ticks period, Ticks most_span);

  /// A leaf, or nothing; `nodes` counts down, and at 0 nothing is known.
  std::optional<Repetend> search(std::int64_t& nodes);

 private:
  static constexpr Ticks kNone = std::numeric_limits<Ticks>::min() / 4;

  using Paths = std::vector<Ticks>;  ///< by block, then block: the least difference of their starts

  struct Pair {
    std::size_t x = 0;
    std::size_t y = 0;
  };
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };

  std::size_t copy(std::int32_t block, std::int32_t j) const {
    return static_cast<std::size_t>(block * microbatches_ + j);
  }
  Ticks time(std::size_t x) const { return times_[x]; }
  Ticks path(const Paths& paths, std::size_t x, std::size_t y) const { return paths[x * size_ + y]; }
  bool add(Paths& paths, std::size_t x, std::size_t y, Ticks least) const;
  bool add_range(Paths& paths, std::size_t x, std::size_t y, Range range) const;
  Range range_of(const Paths& paths, std::size_t x, std::size_t y) const;

  bool add_inputs(Paths& paths) const;
  bool add_order_of_kinds(Paths& paths) const;
  bool add_longest_waits(Paths& paths) const;
  bool join_parts(Paths& paths) const;
  bool add_span(Paths& paths, Ticks most_span) const;

  bool narrow(Paths& paths) const;
  bool narrow_pairs(Paths& paths) const;
  bool narrow_stashes(Paths& paths) const;
  bool narrow_stash(Paths& paths, const std::vector<std::size_t>& on, std::size_t start, std::int64_t limit) const;
  std::optional<std::pair<Pair, Range>> widest_choice(const Paths& paths) const;
  std::optional<Repetend> visit(Paths paths, std::int64_t& nodes) const;
  Repetend leaf(const Paths& paths) const;

  const BlockProblem& problem_;
  std::int32_t microbatches_;
  Ticks period_;
  std::size_t size_;
  std::vector<Ticks> times_;
  std::vector<std::int64_t> stashes_;
  std::vector<std::vector<std::size_t>> on_;  ///< copies of every device
  std::vector<Pair> pairs_;
  Paths root_;
  bool possible_ = true;
};

/// The best that a search found, and what it proved: no repetend of so many microbatches has a shorter period than
/// `bound`.
struct FoundRepetend {
  Repetend repetend;
  Ticks bound = 0;
  std::int64_t nodes = 0;  ///< of all trees that were searched

  bool proved() const { return repetend.period == bound; }
};

/// Searches the shortest period, in whole multiples of `time_grid(problem)`, of repetends of `microbatches`
/// microbatches, over at most `nodes` nodes. `problem` must pass `check_blocks`.
///
/// Modulo scheduling, as compilers do it for loops, and what Tessel does for one microbatch (Lin et al., arXiv
/// 2311.15269): start times such that on every device the blocks, taken modulo the period T, do not overlap, no block
/// starts before its inputs are there, and the stashes that are open on a device at any time are within its limit.
///
/// For a given T this is a search over whole numbers. For two blocks x and y of a device, c(x, y) is the last instance
/// of x that is over when y starts, counted in periods: s_x + c T + t_x <= s_y and s_y + t_y <= s_x + (c + 1) T. All
/// conditions are differences of start times once all c are chosen, and the stash of a device at the start of a block
/// y is the sum of stash_x c(x, y). The tree branches over the c that has fewest values left; longest paths between all
/// pairs of blocks and the limits take values away. Without loss of generality microbatches come in order within each
/// kind of block (instances of a kind can be numbered in time; then c(x_i, x_j) = 0 for i < j), parts of a microbatch
/// that share no edge may be moved by whole periods, and no block waits a whole period longer than for its input where
/// every block has at most one.
///
/// The period is at least the work of the busiest device for `microbatches` microbatches. What is possible for T is
/// possible for every longer one, so a tree without a leaf for T - grid proves T.
FoundRepetend search_repetend(const BlockProblem& problem, std::int32_t microbatches, std::int64_t nodes);

}  // namespace plumb
