#pragma once

#include <cstdint>

#include "sim/order_search/block_problem.hpp"
#include "sim/order_search/schedule_blocks.hpp"

namespace plumb {

/// What is known of the shortest makespan: an order that has `found`, and a proof that none has less than `bound`.
struct ProvedMakespan {
  BlockOrders orders;  ///< empty: none is known
  Ticks found = 0;
  Ticks bound = 0;
  std::int64_t nodes = 0;

  bool proved() const { return found == bound; }
};

/// Branch and bound over all orders of `num_microbatches` microbatches: raises `known.bound` and improves the order
/// until they meet, or `nodes` nodes have been searched. `known.bound` is `least_makespan`; `known.found` is the
/// makespan of an order that somebody has, or the largest value.
///
/// To decide whether a makespan of at most C exists, blocks are placed one after another (Giffler and Thompson, 1960):
/// of all blocks whose inputs are placed and whose memory there is, take the one that could end first, at t; its
/// devices do next one of those that could start there before t, because otherwise it would fit before them. Where it
/// takes memory, that would also be memory that others need, so one more branch lets its devices do something else
/// first. A branch ends where the work, the chains or the memory rounds (`memory_rounds`) of what is left do not fit
/// before C, or where a state with the same counts that is nowhere later was searched in vain.
ProvedMakespan prove_makespan(const BlockProblem& problem, std::int64_t num_microbatches, ProvedMakespan known,
                              std::int64_t nodes);

/// When the blocks of `orders` run, every device as early as it can: the last end. -1 when they are stuck.
Ticks makespan_of(const BlockProblem& problem, const BlockOrders& orders, std::int64_t num_microbatches);

}  // namespace plumb
