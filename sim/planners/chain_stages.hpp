#pragma once

#include <cstdint>
#include <vector>

#include "models/graphs/layer_chain.hpp"
#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"
#include "sim/planners/step_time.hpp"

namespace plumb {

/// The stage of the layers at positions [begin, end) of a chain.
PlanStage chain_stage(const LayerChain& chain, std::size_t begin, std::size_t end, std::int32_t replicas);

/// Largest-stage-first cut of `chain` into `stages`: bounds as in `Partition`.
std::vector<std::size_t> balanced_bounds(const LayerChain& chain, std::int32_t stages);

/// Bytes through a ring all-reduce of `bytes` over `devices`, each way: 2 (r - 1) / r.
double ring_ns(double bytes, std::int32_t devices, double bytes_per_s);

/// Compute and transfer stages of a chain cut at `bounds`, all stages with `replicas` copies that share a microbatch;
/// `recompute` adds the forward to the backward.
PipelineStages pipeline_of(const LayerChain& chain, const std::vector<std::size_t>& bounds, const PlanProblem& problem,
                           std::int32_t replicas, bool recompute);

}  // namespace plumb
