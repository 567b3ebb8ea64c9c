#pragma once

#include "models/stage_costs.hpp"

namespace plumb {

/// The stage keeps nothing for its backward, which makes everything again from the stage's output: that comes back
/// beside its gradient, so more comes back than went out.
inline bool reverses(const StageMemory& memory) {
  return memory.stash.empty() && memory.input_last_use == LastUse::kForward &&
         memory.output_grad_bytes > memory.output_bytes;
}

}  // namespace plumb
