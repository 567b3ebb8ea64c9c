#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/layers/layer_facts.hpp"

namespace plumb {

/// Fills a stage's flat weight block with the initial values of its parameters. A parameter's values follow from `seed`
/// and its name alone, so they do not depend on partition, placement or copies (of a tied weight, of a replica).
template <class T>
void fill_parameters(std::span<const ParameterFacts> parameters, std::uint64_t seed, T* weights);

/// Numbers by parameter name; float and double alike.
using NamedValues = std::map<std::string, std::vector<double>>;

/// Replaces the parameters that `given` has. Throws Error when one is of another size.
template <class T>
void set_parameters(std::span<const ParameterFacts> parameters, const NamedValues& given, T* weights);

}  // namespace plumb
