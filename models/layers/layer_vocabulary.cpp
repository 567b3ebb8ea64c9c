#include <cmath>

#include "models/ground/error.hpp"
#include "models/layers/layer_kinds.hpp"

namespace plumb {

namespace {

constexpr std::int64_t kTokenBytes = 4;
constexpr double kTableDeviation = 0.02;  // GPT-2; the first loss is then close to ln(vocabulary)

}  // namespace

/// Rows of a table, chosen by token ids and positions. There is no gradient for ids, so its backward is all W.
LayerFacts describe_embedding(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  if (spec.positions > 0 && spec.positions < sizes.shape.before + sizes.shape.sequence) {
    throw Error("layer '" + spec.name + "': positions (" + std::to_string(spec.positions) +
                ") must be at least the sequence length (" + std::to_string(sizes.shape.before + sizes.shape.sequence) +
                ")");
  }
  if (spec.positions > 0 && spec.sinusoidal) {
    throw Error("layer '" + spec.name + "': expected learned or sinusoidal positions, not both");
  }
  LayerFacts facts;
  facts.parameters.push_back(sizes.matrix("weight", spec.vocabulary, spec.width));
  if (spec.positions > 0) facts.parameters.push_back(sizes.matrix("positions", spec.positions, spec.width));
  for (ParameterFacts& table : facts.parameters) table.initial_deviation = kTableDeviation;
  // Scaled by sqrt(width), its rows are about as long as the positions.
  if (spec.sinusoidal) facts.parameters.front().initial_deviation = 1.0 / std::sqrt(static_cast<double>(spec.width));
  const std::int64_t ids = sizes.tokens() * kTokenBytes;
  facts.stash = {sizes.kept("tokens", ids, LastUse::kWeightGrad)};
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.output_bytes = sizes.activations(spec.width);
  const std::int64_t tables = spec.positions > 0 ? 2 : 1;
  const std::int64_t rows = sizes.tokens() * spec.width * tables;
  facts.forward.bytes_moved = 2 * ids + sizes.weights(rows) + facts.output_bytes;
  facts.weight_grad.bytes_moved = ids + facts.output_bytes + sizes.accumulate(rows);
  return facts;
}

/// Language-model head with softmax cross-entropy, mean over the microbatch's tokens. F overwrites the logits with
/// their gradient, which I and W need; the targets are not needed after F.
LayerFacts describe_head(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  LayerFacts facts;
  facts.parameters.push_back(sizes.matrix("weight", spec.vocabulary, spec.width));
  facts.parameters.front().initial_deviation = kTableDeviation;
  facts.parameters.front().tied = spec.tied;
  if (spec.side_parameters > 0) facts.parameters.push_back(sizes.vector("side", spec.side_parameters));
  facts.stash = {sizes.kept("logits_grad", sizes.activations(spec.vocabulary), LastUse::kWeightGrad)};
  facts.input_last_use = LastUse::kWeightGrad;
  facts.input_bytes = sizes.activations(spec.width);
  const double product = sizes.product(spec.width, spec.vocabulary);
  const std::int64_t logits = sizes.activations(spec.vocabulary);
  const std::int64_t parameters = facts.parameter_count();
  facts.forward = {product, facts.input_bytes + sizes.weights(parameters) + 3 * logits + sizes.tokens() * kTokenBytes,
                   0};
  facts.input_grad = {product, facts.input_bytes + sizes.weights(parameters) + logits, 0};
  facts.weight_grad = {product, facts.input_bytes + sizes.accumulate(parameters) + logits, 0};
  return facts;
}

/// A module that predicts one token more (MTP, DeepSeek-V3, arXiv 2412.19437, section 2.2): the norms of what comes in
/// and of the next token's embedding, a product that joins them, and the head's logits and loss once more. Its own
/// transformer layer stands before it in the list; head and embedding are those of the network.
LayerFacts describe_further_token(const LayerSizes& sizes) {
  const std::int64_t width = sizes.spec.width;
  LayerFacts facts = describe_head(sizes);
  facts.parameters = {sizes.vector("input_norm.weight", width, 1.0), sizes.vector("embedding_norm.weight", width, 1.0),
                      sizes.matrix("join.weight", width, 2 * width)};
  facts.stash.push_back(sizes.kept("joined", sizes.activations(2 * width), LastUse::kWeightGrad));
  facts.output_bytes = sizes.activations(width);
  const std::int64_t own = facts.parameter_count();
  for (PassFacts* pass : {&facts.forward, &facts.input_grad, &facts.weight_grad}) {
    pass->flops += sizes.product(2 * width, width);
    pass->bytes_moved += sizes.activations(5 * width);
  }
  facts.forward.bytes_moved += sizes.weights(own);
  facts.input_grad.bytes_moved += sizes.weights(own);
  facts.weight_grad.bytes_moved += sizes.accumulate(own);
  return facts;
}

/// As a head, but one per row of an image network, with a bias, and starting like any linear layer.
LayerFacts describe_classifier(const LayerSizes& sizes) {
  LayerFacts facts = describe_head(sizes);
  facts.parameters = {sizes.matrix("weight", sizes.spec.vocabulary, sizes.spec.width)};
  if (sizes.spec.bias) facts.parameters.push_back(sizes.vector("bias", sizes.spec.vocabulary));
  return facts;
}

}  // namespace plumb
