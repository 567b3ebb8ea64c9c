#pragma once

#include "models/stages/stage_layout.hpp"

namespace plumb {

/// Appends a tensor that is kept between passes to the block of its lifetime.
TensorPlace keep_tensor(StageLayout& layout, StashTensor tensor);

}  // namespace plumb
