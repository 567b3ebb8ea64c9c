#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/layers/layer_facts.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {

/// A layer together with the sizes that its facts depend on. Internal to this folder.
struct LayerSizes {
  const LayerSpec& spec;
  const MicrobatchShape& shape;
  const Precision& precision;

  std::int64_t tokens() const { return shape.tokens(); }
  /// Bytes of `features` activations for each token.
  std::int64_t activations(std::int64_t features) const { return tokens() * features * precision.activation_bytes; }
  /// Bytes of `count` statistics (means, log-sums); never narrower than 32 bits.
  std::int64_t statistics(std::int64_t count) const {
    return count * std::max<std::int64_t>(4, precision.activation_bytes);
  }
  std::int64_t weights(std::int64_t count) const { return count * precision.weight_bytes; }
  /// Traffic of an accumulation into `count` gradients: read and written.
  std::int64_t accumulate(std::int64_t count) const { return 2 * count * precision.gradient_bytes; }
  /// FLOPs of a matrix product over all tokens.
  double product(std::int64_t inputs, std::int64_t outputs) const {
    return 2.0 * static_cast<double>(tokens()) * static_cast<double>(inputs) * static_cast<double>(outputs);
  }

  ParameterFacts matrix(const std::string& part, std::int64_t outputs, std::int64_t inputs) const;
  ParameterFacts vector(const std::string& part, std::int64_t size, double initial = 0) const;
  StashTensor kept(const std::string& part, std::int64_t bytes, LastUse last_use) const;
  StashTensor made_by_input_grad(const std::string& part, std::int64_t bytes) const;
};

/// What freezing and adapters change of the facts of a layer, whatever its kind.
void freeze(LayerFacts& facts, const LayerSizes& sizes);

LayerFacts describe_embedding(const LayerSizes& sizes);
LayerFacts describe_norm(const LayerSizes& sizes);
LayerFacts describe_attention(const LayerSizes& sizes);
LayerFacts describe_mlp(const LayerSizes& sizes);
LayerFacts describe_linear(const LayerSizes& sizes);
LayerFacts describe_head(const LayerSizes& sizes);
LayerFacts describe_pixels(const LayerSizes& sizes);
LayerFacts describe_convolution(const LayerSizes& sizes);
LayerFacts describe_batch_norm(const LayerSizes& sizes);
LayerFacts describe_group_norm(const LayerSizes& sizes);
LayerFacts describe_relu(const LayerSizes& sizes);
LayerFacts describe_max_pool(const LayerSizes& sizes);
LayerFacts describe_average_pool(const LayerSizes& sizes);
LayerFacts describe_classifier(const LayerSizes& sizes);
LayerFacts describe_cross_projection(const LayerSizes& sizes);
LayerFacts describe_attention_core(const LayerSizes& sizes);
LayerFacts describe_moe(const LayerSizes& sizes);
LayerFacts describe_latent_attention(const LayerSizes& sizes);
LayerFacts describe_mamba(const LayerSizes& sizes);
LayerFacts describe_further_token(const LayerSizes& sizes);
LayerFacts describe_values(const LayerSizes& sizes);
LayerFacts describe_squared_error(const LayerSizes& sizes);
LayerFacts describe_residual(const LayerSizes& sizes);

}  // namespace plumb
