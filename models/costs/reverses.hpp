#pragma once

#include <algorithm>

#include "models/costs/stage_costs.hpp"

namespace plumb {

/// Returns whether the stage keeps nothing for its backward, which computes everything again from the output of the
/// stage. The output comes back together with its gradient, so more bytes come back than were sent.
inline bool reverses(const StageMemory& memory) {
  const auto kept = [](const StashTensor& tensor) { return tensor.made_by == StashTensor::MadeBy::kForward; };
  return memory.output_grad_bytes > memory.output_bytes && memory.input_last_use == LastUse::kForward &&
         std::ranges::none_of(memory.stash, kept);
}

}  // namespace plumb
