#pragma once

#include <span>

#include "models/stages/stage_layout.hpp"

namespace plumb {

/// Lays out the layers `range` of `chain` (the layers of a whole network, in order). A reversible stage keeps
/// nothing for its backward, but gets its output back together with the gradient. `before` are the layers of the stage
/// before, which may be reversible, too.
StageLayout stage_layout(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                         const Precision& precision, LayerRange before = {});
/// Lays the stage out as if neither it nor the stage before were reversible.
StageLayout plain_stage_layout(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                               const Precision& precision);

/// Returns the memory of that stage.
StageMemory stage_memory(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                         const Precision& precision, LayerRange before = {});

}  // namespace plumb
