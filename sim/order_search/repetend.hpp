#pragma once

#include <cstdint>

#include "sim/order_search/block_problem.hpp"
#include "sim/order_search/repetend_tree.hpp"

namespace plumb {

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
