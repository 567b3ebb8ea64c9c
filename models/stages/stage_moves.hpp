#pragma once

#include "models/stages/stage_flow.hpp"
#include "models/stages/stage_layout.hpp"

namespace plumb {

/// The last pass over a layout whose tensors have their places: adds what is copied and added between the layers,
/// forward and backward, and where each layer leaves its gradients. Internal to `stage_layout`.
void add_moves(const StageFlow& stage, StageLayout& layout);

}  // namespace plumb
