#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// Returns the parameters of the whole network; a tied head adds none.
std::int64_t parameter_count(const Network& network);

/// Model FLOPs of one microbatch: F, I and W of all layers, no recompute (Megatron's count;
/// models/layers/layer_facts.hpp).
double model_flops(const Network& network, const MicrobatchShape& shape);
/// Counts the FLOPs, where `alike` gives of every layer the first one that is like it (models/jobs/alike_layers.hpp).
/// Frozen weights (`trains_weights` false) have no W; what adapters add to F and I is not counted.
double model_flops(const Network& network, const MicrobatchShape& shape, std::span<const std::int32_t> alike,
                   bool trains_weights = true);

/// Returns the weights that live in two stages of `partition`; empty when the tied layers share a stage.
std::vector<TiedWeight> tied_weights(const Network& network, const Partition& partition, const Precision& precision);

/// Returns what a network's stages cost apart from time: memory, tied weights, work. All times are 0. For parts of
/// microbatches
/// (`StageCosts::part`) memory is that of their shape, and times are those of whole ones in proportion to FLOPs.
StageCosts untimed_costs(const Network& network, const Partition& partition, const MicrobatchShape& shape,
                         const Precision& precision);

/// `StageCosts::part` of stages whose memory is known from elsewhere: bytes in proportion to the part's length, times
/// in proportion to FLOPs, as in `untimed_costs`. `memory`: of every stage of `partition`, for a microbatch of `usual`.
std::function<PartCosts(StageId, const Part&, const StageTimes&)> parts_in_proportion(
    std::shared_ptr<const Network> network, Partition partition, const MicrobatchShape& usual,
    std::vector<StageMemory> memory);

}  // namespace plumb
