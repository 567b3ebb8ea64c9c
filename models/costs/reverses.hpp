#pragma once

#include <algorithm>

#include "models/costs/stage_costs.hpp"

namespace plumb {

/// The stage keeps nothing for its backward, which makes everything again from the stage's output: that comes back
/// beside its gradient, so more comes back than went out.
inline bool reverses(const StageMemory& memory) {
  const auto kept = [](const StashTensor& tensor) { return tensor.made_by == StashTensor::MadeBy::kForward; };
  return memory.output_grad_bytes > memory.output_bytes && memory.input_last_use == LastUse::kForward &&
         std::ranges::none_of(memory.stash, kept);
}

}  // namespace plumb
