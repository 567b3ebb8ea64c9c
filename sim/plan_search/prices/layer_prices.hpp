#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// What a layer alone in a stage hands on, and of what the holders of its stage sum gradients.
struct LayerMessages {
  std::int64_t output_bytes = 0;
  std::int64_t input_grad_bytes = 0;
  std::int64_t gradient_bytes = 0;
};

/// What bounds and balanced cuts need of one way to spread a stage.
struct LayerPrices {
  StageTimes whole{};                      ///< the network as one stage, its update without `place_update`
  std::int64_t whole_held_bytes = 0;       ///< weights, gradients and optimizer state of one copy
  std::vector<Ticks> load{};               ///< by layer, alone in a stage: forward and backward
  std::vector<std::int64_t> held_bytes{};  ///< by layer: weights, gradients, optimizer state
  std::vector<std::int64_t> kept_bytes{};  ///< by layer: of one microbatch, between forward and backward
  /// By layer, where it can be chosen for every stage: what running it again spares of a microbatch, and takes. Empty
  /// elsewhere. `load` is without, and `kept_bytes` with.
  std::vector<std::int64_t> spared_bytes{};
  std::vector<Ticks> again{};
  std::vector<double> speed{};  ///< by place
  std::vector<std::int64_t> usable_bytes{};
  std::vector<std::int32_t> node{};  ///< by place
  std::vector<double> price{};       ///< by place, per hour; empty: not known
  Ticks least_update =
      0;  ///< least update of a layer alone in a stage, on a place of speed 1; most_update: the longest
  Ticks most_update = 0;
  std::int32_t most_in_node = 1;  ///< places
  Ticks crossing = 0;             ///< the least that a message between stages takes from one node to another
  Ticks hop = 0;                  ///< and from one place to another
  Cluster::Network near{};        ///< links inside a node, and between nodes
  Cluster::Network far{};
  HostLink host_link{};
  bool links_are_modelled = true;
  std::vector<StageTimes> times{};        ///< by layer, where stages are the sums of their layers; else empty
  std::vector<StageMemory> memory{};      ///< memory by layer, where stages are the sums of their layers; else empty
  std::vector<LayerLeast> least{};        ///< by layer: what it adds to any stage; empty: not known
  Ticks place_update = 0;                 ///< update of all stages of a place together, beside that of their layers
  std::vector<LayerMessages> messages{};  ///< by layer; empty: not known
  std::int64_t least_gradient_bytes =
      0;                         ///< bytes that all stages together sum beside weights that several layers share
  bool again_takes_all = false;  ///< to run a forward again takes no less than the forward
  bool in_order = false;         ///< places keep the cluster's order
  /// By place, of unlike tensor degrees: `OptimisticMachine`; empty: 1 everywhere.
  std::vector<double> time_scale{};
  std::vector<double> memory_scale{};
  bool near_is_better = true;  ///< links inside a node are no slower than between nodes, in latency and bandwidth
};

/// Returns whether some places are faster or have more memory than others.
bool has_unlike_places(const LayerPrices& prices);

/// Returns the least that the messages of a microbatch take one way, from place to place at least `changes` times
/// through so many places.
Ticks least_messages(const LayerPrices& prices, std::int32_t places, std::int64_t changes);

/// Returns the `count` largest of `values`, largest first. Places are mostly alike, and in order then.
template <class T>
std::vector<T> largest_of(const std::vector<T>& values, std::size_t count) {
  if (std::ranges::is_sorted(values, std::ranges::greater())) {
    return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  std::vector<T> sorted = values;
  std::ranges::sort(sorted, std::ranges::greater());
  sorted.resize(count);
  return sorted;
}

/// Returns every stage of `finest` with a single layer. Passes are without what coding of compressed messages takes at
/// both ends: a stage of more layers codes no more.
PricedStages priced_layers(const PlanJob& job, const Parallelism& parallelism, const Partition& finest,
                           std::int32_t places);

/// Takes the communication out of all passes: a pair computes both halves one after the other and may hide the rest.
void hide_communication(StageCosts& costs);

/// Weights, gradients and optimizer state.
std::int64_t held_bytes(const StageMemory& memory);

/// Returns what a microbatch leaves between its forward and its backward; `weight_grad_only`: only what W still reads.
std::int64_t stash_bytes(const StageMemory& memory, bool weight_grad_only = false);

/// Returns the backward of a stage: fused or in halves, whichever is less.
Ticks least_backward(const StageTimes& times);

/// Returns the stages with the longest passes, at most `most`, longest first.
std::vector<std::size_t> most_loaded(const std::vector<StageTimes>& stages, std::size_t most);

/// Returns the prices with all communication of passes hidden.
PricedStages without_communication(PricedStages stages);

}  // namespace plumb
