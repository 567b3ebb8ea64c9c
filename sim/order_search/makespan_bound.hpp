#pragma once

#include <cstdint>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "sim/order_search/block_problem.hpp"

namespace plumb {

struct Cluster;

/// `takes` of a microbatch starts only when `frees` of the microbatch `apart` before it has ended, because a device
/// cannot keep more. From the start of the one to the end of the other a microbatch needs at least `round`.
struct MemoryRound {
  std::int32_t takes = 0;
  std::int32_t frees = 0;
  std::int64_t apart = 1;
  Ticks round = 0;
};

/// All that follow from the limits. A microbatch between two such blocks keeps at least what the passes before the
/// first one took and those from the second one on free; passes of one stage (`Action::stage` of the block) free what
/// that stage took.
std::vector<MemoryRound> memory_rounds(const BlockProblem& problem);

/// A lower bound on the makespan from what memory lets a device do while it waits at the start and at the end; it is
/// the one that counts where messages are slow. On one device, *takers* are blocks that take memory (forwards), and the
/// rest is done with what they took.
///
/// *Start*: none of the rest starts before the shortest chain before any of them, h. Until the first one does, only
/// takers run, and nothing is freed, so their work is at most A: what fits into the limit, the longest per stash first.
/// *End*: behind the last taker only the rest runs, of what was kept then, so that work is at most Z: the limit times
/// the most work per stash (of backwards, or of weight gradients where the first half frees a part). And the chain
/// behind the last taker is at least the shortest behind any taker, e.
///
/// So the makespan is at least h + m work - A + (shortest chain behind any block), at least (shortest chain before any
/// block) + m work - Z + e, and, unless all takers fit into memory at once, at least h + m work - A - Z + e.
Ticks least_by_windows(const BlockProblem& problem, std::int64_t num_microbatches);

/// A lower bound on the makespan of every order of `num_microbatches` microbatches. The largest of these:
///
/// 1. *Work.* A device begins no earlier than the chain before its first block, has all its work to do, and behind its
///    last block comes at least the shortest of the chains behind its blocks.
/// 2. *One kind.* All instances of a block follow each other, with its chains before and behind.
/// 3. *Memory.* With a `MemoryRound`, the last instance of `takes` starts floor((m - 1) / apart) rounds after one of
/// the
///    first `apart`, and those left over follow each other.
/// 4. *Stash times time.* What all microbatches keep on a device, each for at least its longest chain between taking
///    and freeing, fits into the limit times the time between the first start and the last end there.
/// 5. *Start and end.* What memory lets a device do while it waits there: `least_by_windows`.
///
/// (Microbatches come in order within each kind of block, without loss of generality: `OrderProblem`.)
Ticks least_makespan(const BlockProblem& problem, std::int64_t num_microbatches);

/// A lower bound on the time per microbatch of every order, as their number grows: work, and memory as in 3 and 4. As a
/// fraction: ticks over microbatches.
struct LeastRate {
  Ticks ticks = 0;
  std::int64_t microbatches = 1;

  double per_microbatch() const { return static_cast<double>(ticks) / static_cast<double>(microbatches); }
};
LeastRate least_rate(const BlockProblem& problem);

/// What overlapped pairs can leave of the work of a problem.
struct PairedWork {
  /// Twice the time that a device needs at least for one microbatch of all its blocks, alone and in pairs.
  std::vector<Ticks> twice_work;
  /// By block: twice the time that each further instance of it takes of its device at least.
  std::vector<Ticks> twice_each;
  bool saves = false;  ///< some pair takes less than its halves one after the other
};

/// Makes every block of `problem`, whose times are those of `costs` on the devices of `cluster` (null: all of speed 1),
/// as short as alone or in any pair, and says what pairs leave of the devices' work. Blocks of several devices are in
/// no pair.
///
/// A pair starts when both halves may and hands on both results at its end, so a chain is no shorter than the shortest
/// times of its blocks. A device's work is covered by single blocks and pairs. Every pass is in one of them, so half of
/// the cheapest assignment of each kind of pass to a partner (itself: alone twice, or with another microbatch) is no
/// more than they take for each microbatch. That is the bound of fractional perfect matchings.
PairedWork shorten_by_pairs(BlockProblem& problem, const StageCosts& costs, const Cluster* cluster = nullptr);

/// As `least_makespan` for orders in which any two blocks of a device may be a pair. `problem` is what
/// `shorten_by_pairs` left.
Ticks least_makespan_with_pairs(const BlockProblem& problem, const PairedWork& work, std::int64_t num_microbatches);

/// What holds for every order of the same blocks, in pairs or not.
struct OrderBounds {
  Ticks makespan = 0;
  LeastRate rate;
  bool with_pairs = false;  ///< pairs save time; otherwise the bounds are those of orders without, as none is shorter
};
OrderBounds order_bounds(const BlockProblem& problem, const StageCosts& costs, const Cluster* cluster,
                         std::int64_t num_microbatches);

}  // namespace plumb
