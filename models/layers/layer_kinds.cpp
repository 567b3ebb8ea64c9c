#include "models/layers/layer_kinds.hpp"

#include <cmath>

namespace plumb {

/// Uniform variance 1/(3 inputs), as PyTorch's linear layers start.
ParameterFacts LayerSizes::matrix(const std::string& part, std::int64_t outputs, std::int64_t inputs) const {
  return {.name = spec.name + "." + part,
          .shape = {outputs, inputs},
          .decayed = true,
          .initial_deviation = 1.0 / std::sqrt(3.0 * static_cast<double>(inputs))};
}

ParameterFacts LayerSizes::vector(const std::string& part, std::int64_t size, double initial) const {
  return {.name = spec.name + "." + part, .shape = {size}, .initial_mean = initial};
}

StashTensor LayerSizes::kept(const std::string& part, std::int64_t bytes, LastUse last_use) const {
  return {spec.name + "." + part, bytes, StashTensor::MadeBy::kForward, last_use};
}

StashTensor LayerSizes::made_by_input_grad(const std::string& part, std::int64_t bytes) const {
  return {spec.name + "." + part, bytes, StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad};
}

}  // namespace plumb
