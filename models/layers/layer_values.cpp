#include "models/layers/layer_kinds.hpp"

namespace plumb {

namespace {

constexpr std::int64_t kValueBytes = 8;  // the data's numbers are doubles

}  // namespace

/// Numbers of the data, as they are. Nothing to train and no gradient.
LayerFacts describe_values(const LayerSizes& sizes) {
  LayerFacts facts;
  facts.output_bytes = sizes.activations(sizes.spec.width);
  facts.forward.bytes_moved = sizes.tokens() * sizes.spec.width * kValueBytes + facts.output_bytes;
  return facts;
}

/// Half the squared distance of every row to the target values, mean over the rows. F keeps the gradient.
LayerFacts describe_squared_error(const LayerSizes& sizes) {
  const std::int64_t width = sizes.spec.width;
  LayerFacts facts;
  facts.stash = {sizes.kept("error", sizes.activations(width), LastUse::kInputGrad)};
  facts.input_bytes = sizes.activations(width);
  facts.forward.bytes_moved = 2 * facts.input_bytes + sizes.tokens() * width * kValueBytes;
  facts.input_grad.bytes_moved = 2 * facts.input_bytes;
  return facts;
}

}  // namespace plumb
