#pragma once

#include "models/jobs/job_layers.hpp"

namespace plumb {

/// Two products with the activation between them, `copies` times for `tokens` tokens of `features` each. Internal to
/// this folder.
struct MlpShape {
  std::int64_t tokens = 0;
  std::int64_t features = 0;
  std::int64_t hidden = 0;
  std::int64_t copies = 1;
  bool routed = false;  ///< tokens come from a permutation, not from a norm
};

/// Appends its kernels; the activation runs again where the job recomputes it.
void add_mlp(LayerKernels& kernels, const LayerSpec& layer, const JobShape& shape, const MlpShape& mlp);

}  // namespace plumb
