#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/jobs/job_layers.hpp"
#include "models/jobs/job_shape.hpp"

namespace plumb {

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
  KeptBytes& operator+=(const KeptBytes& other);
  friend bool operator==(const KeptBytes&, const KeptBytes&) = default;
};

/// One operation of a layer: what it keeps between the passes, and what is alive only while it runs. Bytes of one
/// microbatch on one device.
struct ActivationStep {
  std::string_view name;  ///< name of what it keeps: "attention.qkv", "mlp.hidden", "head.loss"
  KeptBytes kept{};
  std::int64_t forward = 0;      ///< F: its output where the next step does not keep it, gathered inputs, parts of sums
  std::int64_t input_grad = 0;   ///< I: gradients of its output and of its input, gathered or not yet scattered
  std::int64_t weight_grad = 0;  ///< W: the gathered input, and the weight's gradient before it is added
  std::optional<Product>
      product{};  ///< product of the library of layers, which may keep a placeholder for its gradient
};

/// Returns the operations of `layer` in the order of F, without full recompute. The gradient that goes around the body
/// of a residual layer is part of its steps.
std::vector<ActivationStep> activation_steps(const LayerSpec& layer, const JobShape& shape);

/// Returns what all steps of `layer` keep.
KeptBytes kept_bytes(const LayerSpec& layer, const JobShape& shape);

}  // namespace plumb
