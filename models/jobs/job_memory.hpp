#pragma once

#include <cstdint>
#include <span>

#include "models/costs/stage_costs.hpp"
#include "models/jobs/job_kernels.hpp"

namespace plumb {

/// Parameters that one device holds of some layers, before ZeRO divides them.
struct DeviceParameters {
  std::int64_t dense = 0;   ///< divided over tensor ranks where matrices are; gradients reduced over all data ranks
  std::int64_t expert = 0;  ///< divided over expert ranks, too; reduced over the rest of the data ranks

  std::int64_t all() const { return dense + expert; }
};

/// Of `layer`, also inside of residuals. A tied head holds a copy of its own.
DeviceParameters device_parameters(const LayerSpec& layer, const JobShape& shape);

/// Of the layers of a stage; a head tied to an embedding beside it has no copy.
DeviceParameters stage_parameters(std::span<const LayerSpec> layers, const JobShape& shape);

/// Bytes of activations that one device keeps of one microbatch, by which pass reads them last. For GPT layers with
/// dropout they add up to Korthikanti et al. (2022), table 2, exactly:
///
///     no parallelism              sbh (34 + 5 a s/h)
///     tensor                      sbh (10 + 24/t + 5 a s/(h t))
///     tensor and sequence         sbh/t (34 + 5 a s/h)
///     selective, or FlashAttention: without 5 a s/h (FlashAttention keeps 4 bytes per head and token instead)
///     full                        2 sbh per transformer layer (/t with sequence parallelism)
struct KeptBytes {
  std::int64_t for_input_grad = 0;      ///< made by F, free after I
  std::int64_t for_weight_grad = 0;     ///< made by F, free after W: inputs of matrix products
  std::int64_t made_by_input_grad = 0;  ///< made by I for W: gradients of their outputs

  std::int64_t from_forward() const { return for_input_grad + for_weight_grad; }
  friend bool operator==(const KeptBytes&, const KeptBytes&) = default;
};

/// Of one layer, without full recompute.
KeptBytes kept_bytes(const LayerSpec& layer, const JobShape& shape);

/// Of the layers of a stage, with full recomputation if the job has it: residual layers keep the input of the first one
/// of a transformer layer (attention and MLP) only, and `workspace_bytes` is what the largest transformer layer keeps
/// while it is recomputed.
struct StageKept {
  KeptBytes kept;
  std::int64_t workspace_bytes = 0;
};
StageKept stage_kept(std::span<const LayerSpec> layers, const JobShape& shape);

/// Memory of one device of a stage, without messages: weights, gradients and optimizer state with ZeRO, what is kept.
StageMemory job_stage_memory(std::span<const LayerSpec> layers, const JobShape& shape);

}  // namespace plumb
