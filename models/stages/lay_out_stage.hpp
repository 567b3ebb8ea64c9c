#pragma once

#include <span>

#include "models/stages/stage_layout.hpp"

namespace plumb {

/// Lays out the layers `range` of `chain` (the layers of a whole network, in order). A stage that can be reversed
/// keeps nothing for its backward, but gets its output back beside the gradient; `before`: the layers of the stage in
/// front, which may want the same.
StageLayout stage_layout(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                         const Precision& precision, LayerRange before = {});
/// The same, but it is not reversed, and neither is the stage before.
StageLayout plain_stage_layout(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                               const Precision& precision);

/// The memory of that stage.
StageMemory stage_memory(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                         const Precision& precision, LayerRange before = {});

}  // namespace plumb
