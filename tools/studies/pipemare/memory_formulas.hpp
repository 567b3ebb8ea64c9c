#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plumb {

// Closed forms that the model part of the PipeMare study compares with simulations. P stages, N microbatches per
// update. Slots: every stage runs a forward and a backward at once, so stage i (from 0) has 2 (P - 1 - i) + 1
// microbatches between a microbatch's forward and its backward.

/// (N + P - 1) / N: how much more a pipeline that never flushes is used than GPipe.
double utilization_gain(std::int64_t stages, std::int64_t microbatches);

/// Utilization over GPipe when a share of the epochs runs flushed (T3): 1 / (q + (1 - q) u), u that of GPipe.
double amortised_gain(std::int64_t stages, std::int64_t microbatches, double synchronous_share);

/// Sum of w_i times the mean delay of stage i over the sum of w_i. `parameters` by stage.
double weighted_delay(std::span<const std::int64_t> parameters, std::int64_t microbatches);

/// The same with whole versions, ceil of every delay.
double weighted_versions(std::span<const std::int64_t> parameters, std::int64_t microbatches);

/// Weights, gradients and optimizer state of PipeDream over those of one model: (c - 1 + A) / c, where the optimizer
/// keeps `copies` = c copies of the weights (SGD with momentum 3, Adam 4) and A is the weighted delay.
double pipedream_memory(double weighted_delay, double copies);

/// Stashes of one stage and microbatch that the whole pipeline keeps in slots without recompute: P^2.
std::int64_t stashed_activations(std::int64_t stages);

/// The same when segments of `segment` stages keep their input only and run their forwards again so late that every
/// stage is ready when its backward comes: inputs of the segments, and replayed microbatches.
std::int64_t recomputed_activations(std::int64_t stages, std::int64_t segment);

/// The segment length with the fewest; the smallest of several.
std::int64_t best_segment(std::int64_t stages);

}  // namespace plumb
