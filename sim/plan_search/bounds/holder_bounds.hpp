#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/stages/partition.hpp"
#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

/// The least step of stages that several places may hold, as far as a bound counts, and the plan that would take it if
/// nothing else took time: a good one to begin with.
struct HoldersBound {
  Ticks bound = 0;  ///< lower bound; about a thousand times the work of all layers where no such plan fits
  Partition partition{};
  std::vector<std::int32_t> replicas{};
};

/// Returns a lower bound on the step of pipelines by `dapple` on all places of `prices`, with any cut and any number of
/// holders of each stage.
///
/// Write M for the microbatches and r for the holders of a stage. Some holder takes c = ceil(M / r) microbatches. F and
/// B are the stage's forward and backward. E is one microbatch's forwards through the layers before the stage and the
/// message from them, Z the way of its gradient back through these. A is the ring over r holders, by the fastest links
/// that can join so many. l is the least time from the start of a microbatch's forward in the stage to the end of its
/// backward: it goes to the end of the network and back meanwhile. n stashes fit into the roomiest place, beside
/// weights, gradients and optimizer state, and beside what the forward needs that brings them to that number: what the
/// stage receives and hands on, and what two neighbouring layers inside hand on.
///
/// 1. *Work.* The step is at least E + c (F + B) + max(Z, A).
///    The holder begins after E and does c forwards and backwards. After the last one its gradient goes on, and its
///    weights' gradients are added up.
/// 2. *Memory.* The step is at least E + ceil(c / n) l + max(Z, A); with n = 0 there is no such stage.
///    The holder keeps each of its microbatches for l, and at most n at a moment. Such intervals can be dealt into n
///    rows without overlaps (interval graphs are perfect). Some row has ceil(c / n) of them, one after another.
/// 3. *Unlike places.* See all places but the fastest as the fastest and roomiest of these. Of r holders in turn each
///    takes floor(M / r) microbatches or one more. So 1 and 2 hold for slow holders with that many, at their speed; and
///    A is between nodes where a stage has fast and slow holders and no node has both.
///    If the microbatches left over are more than the fast holders, a slow one takes one more. If no fast one does,
///    some slow one does, which takes no less time for it.
/// 4. *Cover.* A step is possible only if some cut gives each stage so many holders that 1 to 3 hold with it, and all
///    places together are enough.
///    The fewest places for the first k layers follow from those for fewer layers (with 3: the fewest slow places, by
///    the fast ones that are used). The least possible step is found by bisection.
///
/// Needs stages that are the sums of their layers (`LayerPrices::times`). For others only what is certain is counted
/// (`LayerPrices::least`; the bound is 0 where that is not known).
HoldersBound holders_bound(const LayerPrices& prices, std::int64_t microbatches);

/// Finds plans that are good if messages take what they take inside a node, or between nodes, and stages keep no more
/// microbatches than their schedule does. Tries any holders, and as many on every node; all the memory, and nine tenths
/// of it. These are estimates, which prove nothing.
std::vector<HoldersBound> holder_estimates(const LayerPrices& prices, std::int64_t microbatches);

/// One copy of the pipeline on all places, whose stages may have several holders.
struct UndividedSetup {
  Parallelism parallelism{};
  std::int64_t microbatches = 1;
  std::shared_ptr<const LayerPrices> prices{};
};

/// Collects the few plans that `holders_bound` and `holder_estimates` point at, whose stages have several holders.
std::vector<PipelinePlan> replicated_plans(const std::vector<UndividedSetup>& setups);

/// Returns a lower bound on the step of all plans whose stages have several holders, or `best` where that is less.
Ticks least_replicated(const std::vector<UndividedSetup>& setups, Ticks best);

}  // namespace plumb
