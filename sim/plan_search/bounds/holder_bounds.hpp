#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/stages/partition.hpp"
#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

/// The least step that stages held by several places could take, and the plan that would take it if nothing but what
/// was counted took time: a good one to begin with.
struct HoldersBound {
  Ticks bound = 0;  ///< the largest number where no such plan fits
  Partition partition{};
  std::vector<std::int32_t> replicas{};
};

/// Of pipelines by `dapple` on all places of `prices`: any cut, any number of holders of each stage.
///
/// Of M microbatches some holder of a stage of r takes c = ceil(M / r), and for that holder the step is no less than
///
///     before + max(c (F + B), ceil(c / n) life) + max(back, reduction + update)
///
/// before: one microbatch's forwards through the layers before the stage, and the message from them; back: the gradient
/// of its last one through these; reduction: the ring over r holders by the fastest links that can join so many. n is
/// how many stashes the roomiest place has room for (none: no such stage), beside weights, gradients and optimizer
/// state, and, in the forward that brings their number to the most, what it receives, what it hands on, and what two
/// neighbouring layers inside the stage hand on. life: from the start of a microbatch's forward to the end of its
/// backward its stash is there, and it goes to the end of the network and back meanwhile, with the messages where the
/// stage ends. Of c such intervals at most n at a moment overlap, so they can be dealt into n rows without overlaps
/// (interval graphs are perfect), one of which has ceil(c / n) of them, one after another.
///
/// Where places are of unlike speed, the others are seen as the fastest and roomiest of them: of the holders of a stage
/// in turn each takes floor(M / r) microbatches or one more, so a slow one needs as many of its turns, and its stashes
/// are there longer. Fast and slow holders of a stage reduce gradients between nodes where no node has both. Then the
/// fewest slow places follow for the first k layers and so many fast ones.
///
/// A step is possible, as far as this goes, when some cut gives each stage enough holders with all places together: the
/// fewest places for the first k layers follow from those for fewer layers, and the least step by bisection. Needs
/// stages that are the sums of their layers (`LayerPrices::times`); of others only what is certain is counted
/// (`LayerPrices::least`; 0 where that is not known).
HoldersBound holders_bound(const LayerPrices& prices, std::int64_t microbatches);

/// Plans that are good when every microbatch's messages take what they take inside a node, or between nodes, and stages
/// keep no more microbatches than their schedule does; with any holders, and with as many on every node; with all the
/// memory, and with a tenth left: estimates, which prove nothing.
std::vector<HoldersBound> holder_estimates(const LayerPrices& prices, std::int64_t microbatches);

/// One copy of the pipeline on all places, whose stages may have several holders.
struct UndividedSetup {
  Parallelism parallelism{};
  std::int64_t microbatches = 1;
  std::shared_ptr<const LayerPrices> prices{};
};

/// Plans whose stages have several holders, good as far as `holders_bound` and `holder_estimates` know; few.
std::vector<PipelinePlan> replicated_plans(const std::vector<UndividedSetup>& setups);

/// No plan whose stages have several holders takes less than this; not more than `best`.
Ticks least_replicated(const std::vector<UndividedSetup>& setups, Ticks best);

}  // namespace plumb
