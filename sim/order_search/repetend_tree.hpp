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

}  // namespace plumb
