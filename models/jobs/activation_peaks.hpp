#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "models/jobs/activation_steps.hpp"

namespace plumb {

/// Returns how many of the first layers of a stage run again as a whole, by the job's policy: all or none.
std::size_t layers_again(std::span<const LayerSpec> layers, const JobShape& shape);

/// Counts what the layers of a stage keep, with full recomputation if the job has it: residual layers keep the input of
/// the first one of a transformer layer (attention and MLP) only.
KeptBytes stage_kept(std::span<const LayerSpec> layers, const JobShape& shape);

/// Largest number of bytes alive inside of a pass of a stage besides everything that is kept for it. What is kept is
/// counted whole during a pass; inside of it a backward frees what each operation has read, and a forward has not made
/// everything yet, so these are peaks of (alive while an operation runs) - (kept, but already freed or not yet made).
struct PassPeaks {
  std::int64_t forward = 0;
  std::int64_t backward = 0;  ///< B: input gradients and weight gradients of an operation together
  std::int64_t input_grad = 0;
  std::int64_t weight_grad = 0;
};

/// Activations of a stage on one device.
struct StageActivations {
  std::vector<StashTensor> stash{};  ///< what it keeps, step by step of the same name: tensors with their lives
  PassPeaks peaks{};
  /// Placeholders that a library of layers keeps for gradients, one per shape of weights; 0 unless the job has them.
  std::int64_t placeholder_bytes = 0;
};

/// The first `again` layers run again.
StageActivations stage_activations(std::span<const LayerSpec> layers, const JobShape& shape, std::size_t again);

}  // namespace plumb
