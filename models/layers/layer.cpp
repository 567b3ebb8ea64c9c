#include "models/layers/layer.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/layers/layer_kinds.hpp"

namespace plumb {

namespace {

/// Two values read, their sum written; back, one gradient is added to another.
LayerFacts describe_add(const LayerSizes& sizes) {
  LayerFacts facts;
  facts.input_bytes = facts.from_bytes = facts.output_bytes = sizes.activations(sizes.spec.width);
  facts.forward.bytes_moved = facts.input_grad.bytes_moved = 3 * facts.output_bytes;
  return facts;
}

/// Figures that somebody measured; its times stay in the specification.
LayerFacts describe_profiled(const LayerSizes& sizes) {
  const ProfiledFigures& figures = sizes.spec.profiled;
  LayerFacts facts;
  if (figures.parameter_bytes > 0) {
    facts.parameters.push_back(sizes.vector("parameters", figures.parameter_bytes / sizes.precision.weight_bytes));
  }
  if (figures.kept_for_input_grad_bytes > 0) {
    facts.stash.push_back(sizes.kept("kept_for_input_grad", figures.kept_for_input_grad_bytes, LastUse::kInputGrad));
  }
  if (figures.kept_for_weight_grad_bytes > 0) {
    facts.stash.push_back(sizes.kept("kept_for_weight_grad", figures.kept_for_weight_grad_bytes, LastUse::kWeightGrad));
  }
  facts.output_bytes = figures.output_bytes;
  return facts;
}

}  // namespace

std::int64_t ParameterFacts::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t LayerFacts::parameter_count() const {
  return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0},
                         [](std::int64_t sum, const ParameterFacts& parameter) { return sum + parameter.count(); });
}

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

LayerFacts describe(const LayerSpec& spec, const MicrobatchShape& shape, const Precision& precision) {
  using Describe = LayerFacts (*)(const LayerSizes& sizes);
  // In the order of LayerKind.
  static constexpr std::array<Describe, 24> kDescribe{
      describe_embedding,      describe_norm,          describe_norm,
      describe_attention,      describe_mlp,           describe_linear,
      describe_residual,       describe_head,          describe_profiled,
      describe_values,         describe_squared_error, describe_add,
      describe_pixels,         describe_convolution,   describe_batch_norm,
      describe_group_norm,     describe_relu,          describe_max_pool,
      describe_average_pool,   describe_classifier,    describe_cross_projection,
      describe_attention_core, describe_moe,           describe_latent_attention};
  return kDescribe.at(static_cast<std::size_t>(spec.kind))({spec, shape, precision});
}

}  // namespace plumb
