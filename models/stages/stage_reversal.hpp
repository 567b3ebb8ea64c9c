#pragma once

#include <cstddef>
#include <span>

#include "models/stages/stage_flow.hpp"
#include "models/stages/stage_layout.hpp"
#include "models/stages/workspace_plan.hpp"

namespace plumb {

/// Returns whether layer `k` of `chain` is a coupled residual: `x[k] = x[k-2] + body(x[k-1])`.
bool is_coupled(std::span<const LayerSpec> chain, std::size_t k);

/// Returns whether the backward of a stage can compute the stage's inputs again from its outputs: all its layers are
/// coupled residuals, and two values go in and out. Sequence slices cannot: later ones read the keys of earlier ones.
/// (Gomez et al., RevNet, arXiv 1707.04585; Rivaud et al., PETRA, arXiv 2406.02052)
bool can_reverse(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape);

/// Places what the backward of such a stage works on: F keeps nothing, and everything that F makes is made again at
/// the beginning of B or I, block by block. What W reads is then kept from I to W.
void place_reversal(const StageFlow& stage, StageLayout& layout, WorkspacePlan& input_grad, WorkspacePlan& backward);

/// Places the part of the message that follows the gradients (`places` by value): the outputs, if the stage is
/// reversible.
void take_outputs(const StageFlow& stage, StageLayout& layout, std::span<const TensorPlace> places);

/// The inputs go back to the stage before, after the gradients.
void return_inputs(const StageFlow& stage, StageLayout& layout, std::span<const TensorPlace> places);

}  // namespace plumb
