#pragma once

#include <cstdint>
#include <span>

#include "models/layer.hpp"

namespace plumb {

/// Fills a stage's flat weight block with the initial values of its parameters. A parameter's values follow from `seed`
/// and its name alone, so they do not depend on partition, placement or copies (of a tied weight, of a replica).
template <class T>
void fill_parameters(std::span<const ParameterFacts> parameters, std::uint64_t seed, T* weights);

}  // namespace plumb
