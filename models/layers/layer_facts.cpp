#include "models/layers/layer_facts.hpp"

#include <functional>
#include <numeric>

namespace plumb {

std::int64_t ParameterFacts::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t LayerFacts::parameter_count() const {
  return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0},
                         [](std::int64_t sum, const ParameterFacts& parameter) { return sum + parameter.count(); });
}

}  // namespace plumb
