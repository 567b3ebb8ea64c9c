#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/layers/layer_facts.hpp"

namespace plumb {

/// Whose norm is clipped: that of every stage by itself, or that of all stages together.
enum class ClipScope : std::uint8_t { kStage, kGlobal };

struct GradientClip {
  double norm = 0;  ///< the largest one of the mean gradient; 0: not clipped
  ClipScope scope = ClipScope::kStage;
};

/// Squared norms of a stage's gradients, one per parameter, in the layout's order. A further copy of a tied weight
/// counts 0: it is counted where the embedding is.
template <class T>
std::vector<double> squared_norms(std::span<const ParameterFacts> parameters, const T* gradients);

/// Factor for the gradients so that their norm is at most `max_norm`: min(1, max_norm / (norm + 1e-6)), as PyTorch
/// does. `squared` are the parts of the squared norm and are added in the given order. Of one stage: clipping per
/// stage. Of all stages in their order: global clipping, with the same bits however the network was cut.
/// `gradient_scale` multiplies the gradients before (1 / microbatches).
double clip_factor(std::span<const double> squared, double gradient_scale, double max_norm);

}  // namespace plumb
