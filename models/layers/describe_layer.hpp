#pragma once

#include "models/layers/layer_facts.hpp"

namespace plumb {

/// The facts of `spec`; a residual block's are those of its body taken together, plus its additions.
/// Throws Error when the sizes contradict each other (heads that do not divide the width, too few positions).
LayerFacts describe(const LayerSpec& spec, const MicrobatchShape& shape, const Precision& precision);

}  // namespace plumb
