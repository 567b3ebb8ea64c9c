#include <algorithm>
#include <cmath>

#include "models/layers/layer_kinds.hpp"
#include "models/layers/layer_workspace.hpp"

namespace plumb {

namespace {

/// Values of `image` for all rows.
std::int64_t image_bytes(const LayerSizes& sizes, const ImageShape& image) {
  return sizes.activations(image.features());
}

/// Returns what all layers from image to image have in common.
LayerFacts image_facts(const LayerSizes& sizes) {
  LayerFacts facts;
  facts.input_bytes = image_bytes(sizes, input_image(sizes.spec));
  facts.output_bytes = image_bytes(sizes, output_image(sizes.spec));
  facts.forward.bytes_moved = facts.input_bytes + facts.output_bytes;
  facts.input_grad.bytes_moved = facts.input_bytes + facts.output_bytes;
  return facts;
}

}  // namespace

/// Bytes 0 to 255 become (x / 255 - 1/2) * 4. No gradient and nothing to train.
LayerFacts describe_pixels(const LayerSizes& sizes) {
  const std::int64_t features = input_image(sizes.spec).features();
  constexpr std::int64_t kByteAsId = 4;
  LayerFacts facts;
  facts.output_bytes = sizes.activations(features);
  facts.forward.bytes_moved = sizes.tokens() * features * kByteAsId + facts.output_bytes;
  return facts;
}

/// A matrix product of patches: rows are output pixels, columns kernel x kernel x channels. Patches are laid out in the
/// workspace, some images at a time, in F, I and W. FLOPs count padding like pixels.
LayerFacts describe_convolution(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t patch = spec.kernel * spec.kernel * spec.channels;
  const std::int64_t pixels = output_image(spec).pixels();
  LayerFacts facts = image_facts(sizes);
  facts.parameters.push_back(sizes.matrix("weight", spec.filters, patch));
  facts.parameters.front().initial_deviation = std::sqrt(2.0 / static_cast<double>(patch));  // He et al. 2015
  if (spec.bias) facts.parameters.push_back(sizes.vector("bias", spec.filters));
  facts.input_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.input_grad_optional = true;
  const double flops = sizes.product(patch, spec.filters) * static_cast<double>(pixels);
  const std::int64_t parameters = facts.parameter_count();
  facts.forward.flops = facts.input_grad.flops = facts.weight_grad.flops = flops;
  facts.forward.bytes_moved += sizes.weights(parameters);
  facts.input_grad.bytes_moved += sizes.weights(spec.filters * patch);
  facts.weight_grad.bytes_moved = facts.input_bytes + facts.output_bytes + sizes.accumulate(parameters);
  if (needs_patches(spec)) {
    const std::int64_t number = sizes.precision.activation_bytes;
    const std::int64_t patches = convolution_images(spec, sizes.tokens(), number) * pixels * patch * number;
    facts.forward.workspace_bytes = facts.input_grad.workspace_bytes = facts.weight_grad.workspace_bytes = patches;
  }
  return facts;
}

/// Mean and deviation by channel over all pixels of the microbatch (or slice of it), in evaluation over those of the
/// evaluated one: there are no running statistics. I makes the parameters' gradients from two sums by channel.
LayerFacts describe_batch_norm(const LayerSizes& sizes) {
  const std::int64_t channels = sizes.spec.channels;
  LayerFacts facts = image_facts(sizes);
  facts.parameters = {sizes.vector("weight", channels, 1.0), sizes.vector("bias", channels)};
  facts.stash = {sizes.kept("mean", sizes.statistics(channels), LastUse::kInputGrad),
                 sizes.kept("inverse_deviation", sizes.statistics(channels), LastUse::kInputGrad)};
  facts.input_last_use = LastUse::kInputGrad;
  facts.forward.bytes_moved += facts.input_bytes + sizes.weights(2 * channels);  // once for the statistics
  facts.input_grad.bytes_moved += 3 * facts.input_bytes + sizes.accumulate(2 * channels);
  facts.input_grad.workspace_bytes = 2 * channels * sizes.precision.activation_bytes;
  return facts;
}

/// Mean and deviation by image and group of channels.
LayerFacts describe_group_norm(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t statistics = sizes.statistics(sizes.tokens() * spec.groups);
  LayerFacts facts = image_facts(sizes);
  facts.parameters = {sizes.vector("weight", spec.channels, 1.0), sizes.vector("bias", spec.channels)};
  facts.stash = {sizes.kept("mean", statistics, LastUse::kInputGrad),
                 sizes.kept("inverse_deviation", statistics, LastUse::kInputGrad)};
  facts.input_last_use = LastUse::kInputGrad;
  facts.forward.bytes_moved += facts.input_bytes + sizes.weights(2 * spec.channels);
  facts.input_grad.bytes_moved += 3 * facts.input_bytes + sizes.accumulate(2 * spec.channels);
  return facts;
}

/// One bit per number says where the gradient goes on, so neither input nor output is kept for I.
LayerFacts describe_relu(const LayerSizes& sizes) {
  const std::int64_t bits = (sizes.tokens() * sizes.spec.width + 7) / 8;
  LayerFacts facts;
  facts.input_bytes = facts.output_bytes = sizes.activations(sizes.spec.width);
  facts.stash = {sizes.kept("positive", bits, LastUse::kInputGrad)};
  facts.forward.bytes_moved = facts.input_grad.bytes_moved = 2 * facts.input_bytes + bits;
  return facts;
}

/// A byte per output says which pixel of its window was the largest.
LayerFacts describe_max_pool(const LayerSizes& sizes) {
  const std::int64_t outputs = sizes.tokens() * output_image(sizes.spec).features();
  LayerFacts facts = image_facts(sizes);
  facts.stash = {sizes.kept("largest", outputs, LastUse::kInputGrad)};
  facts.forward.bytes_moved += outputs;
  facts.input_grad.bytes_moved += outputs;
  return facts;
}

LayerFacts describe_average_pool(const LayerSizes& sizes) { return image_facts(sizes); }

}  // namespace plumb
