#include "models/jobs/activation_peaks.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/jobs/job_memory.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;

/// Layers with the sizes of Llama 3 70B (width 8192, 64 heads, 8 of keys and values, MLP 28672), 4096 tokens.
std::vector<LayerSpec> llama_layers(std::size_t count) {
  const Network network = load_network("llama3-70b");
  return {network.layers.begin() + 1, network.layers.begin() + 1 + static_cast<std::ptrdiff_t>(2 * count)};
}

JobShape llama_shape(Parallelism job) {
  job.microbatch_size = 1;
  job.sequence = 4096;
  return {load_network("llama3-70b"), job};
}

StageActivations activations_of(std::span<const LayerSpec> layers, const JobShape& shape) {
  return stage_activations(layers, shape, layers_again(layers, shape));
}

std::map<std::string, std::int64_t> mib_by_name(std::span<const LayerSpec> layers, const JobShape& shape) {
  std::map<std::string, std::int64_t> mib;
  for (const StashTensor& tensor : activations_of(layers, shape).stash) {
    if (tensor.made_by == StashTensor::MadeBy::kForward) mib[tensor.name] += tensor.bytes / kMib;
  }
  return mib;
}

}  // namespace

TEST_CASE("tensors that a layer of Llama 3 70B keeps, by hand") {
  const std::vector<LayerSpec> layer = llama_layers(1);
  // A value between layers: 4096 tokens x 8192 x 2 bytes = 64 MiB. Keys and values: a quarter of the queries more.
  std::map<std::string, std::int64_t> kept{
      {"norm.input", 2 * 64}, {"attention.input", 64}, {"attention.qkv", 80 + 1}, {"attention.attended", 64},
      {"mlp.input", 64},      {"mlp.hidden", 448},     {"mlp.activated", 224}};
  CHECK(mib_by_name(layer, llama_shape({})) == kept);
  // Two tensor ranks: what is between the layers stays whole ...
  kept = {{"norm.input", 2 * 64}, {"attention.input", 64}, {"attention.qkv", 40}, {"attention.attended", 32},
          {"mlp.input", 64},      {"mlp.hidden", 224},     {"mlp.activated", 112}};
  CHECK(mib_by_name(layer, llama_shape({.tensor = 2})) == kept);
  // ... unless they share the sequence, too.
  kept["norm.input"] = 64;
  kept["attention.input"] = kept["mlp.input"] = 32;
  CHECK(mib_by_name(layer, llama_shape({.tensor = 2, .sequence_parallel = true})) == kept);
  // Unfused attention keeps the softmax of 64 heads: 64 x 4096 x 4096 x 2 bytes = 2 GiB, and no statistics.
  CHECK(mib_by_name(layer, llama_shape({.flash_attention = false})).at("attention.scores") == 2048);
  CHECK(mib_by_name(layer, llama_shape({.flash_attention = false})).at("attention.qkv") == 80);
  const Parallelism selective{.recompute = ActivationRecompute::kSelective, .flash_attention = false};
  CHECK(!mib_by_name(layer, llama_shape(selective)).contains("attention.scores"));
  const std::map<std::string, std::int64_t> input{{"layer.input", 64}};
  CHECK(mib_by_name(layer, llama_shape({.recompute = ActivationRecompute::kFull})) == input);
  // Context ranks exchange the output of attention, and keep it as it was before, too.
  CHECK(mib_by_name(layer, llama_shape({.context = 4})).at("attention.qkv") == 20 + 16);
}

TEST_CASE("a backward is fullest at the activation of its last MLP, when the product behind it has freed its input") {
  const std::vector<LayerSpec> layers = llama_layers(6);
  const JobShape shape = llama_shape({.weight_gradients = WeightGradients::kPlaceholders});
  // The gradient around the MLP, of its activated and of its hidden values, without the activated values that are free.
  CHECK(activations_of(layers, shape).peaks.backward == (64 + 224 + 448 - 224) * kMib);
  // With weight gradients that are passed on, the last product's: 28672 x 8192 x 2 bytes = 448 MiB, beside the gradient
  // of its output, the one around the MLP and that of its input.
  const JobShape passed = llama_shape({});
  CHECK(activations_of(layers, passed).peaks.backward == (448 + 64 + 64 + 224) * kMib);
  CHECK(activations_of(layers, passed).placeholder_bytes == 0);
  // One placeholder each for the four products, however many layers there are.
  CHECK(activations_of(layers, shape).placeholder_bytes == (160 + 128 + 896 + 448) * kMib);
}

TEST_CASE("a recomputed layer is held whole while its backward runs") {
  const std::vector<LayerSpec> layers = llama_layers(2);
  const JobShape kept = llama_shape({.weight_gradients = WeightGradients::kAdded});
  const JobShape again =
      llama_shape({.recompute = ActivationRecompute::kFull, .weight_gradients = WeightGradients::kAdded});
  const std::int64_t layer = kept_bytes(layers[0], kept).from_forward() + kept_bytes(layers[1], kept).from_forward();
  CHECK(activations_of(layers, again).peaks.backward == layer + activations_of(layers, kept).peaks.backward);
  CHECK(stage_kept(layers, again).from_forward() == 2 * 64 * kMib);
}

TEST_CASE("logits are kept in 32 bits beside those in 16 bits, unless the loss writes over them") {
  const Network network = load_network("llama3-70b");
  const std::vector<LayerSpec> head{network.layers.back()};
  const std::int64_t logits = std::int64_t{4096} * 128256;
  const JobShape plain = llama_shape({.weight_gradients = WeightGradients::kAdded});
  CHECK(stage_kept(head, plain).from_forward() == 64 * kMib + 4 * logits);
  CHECK(activations_of(head, plain).peaks.forward == 2 * logits);
  CHECK(activations_of(head, plain).peaks.backward == 2 * logits);
  const JobShape fused = llama_shape({.fused_loss = true});
  CHECK(stage_kept(head, fused).from_forward() == 64 * kMib + 2 * logits);
  // The gradients of logits, of the input, and of the weight, when the logits' own place is free.
  CHECK(activations_of(head, fused).peaks.backward == (64 + 2004) * kMib);
}

TEST_CASE("sequence parallelism gathers what its products read") {
  const std::vector<LayerSpec> layers = llama_layers(1);
  const JobShape shared = llama_shape({.tensor = 2, .weight_gradients = WeightGradients::kAdded});
  const JobShape parted =
      llama_shape({.tensor = 2, .sequence_parallel = true, .weight_gradients = WeightGradients::kAdded});
  const auto gathered = [](const JobShape& shape) {
    const std::vector<ActivationStep> steps = activation_steps(llama_layers(1)[1].body[1], shape);
    return std::ranges::find(steps, "mlp.input", &ActivationStep::name)->weight_grad;
  };
  CHECK(gathered(shared) == 0);
  CHECK(gathered(parted) == 64 * kMib);
}

TEST_CASE("libraries are held in every pass, messages are not counted twice, and 16-bit gradients are widened") {
  const std::vector<LayerSpec> layers = llama_layers(1);
  Parallelism job{.data = 4, .zero = ZeroStage::kOptimizer};
  const StageMemory alone = job_stage_memory(layers, llama_shape(job));
  const StageMemory beside =
      job_stage_memory(layers, llama_shape(job), {.library_bytes = kMib, .backward_messages = 2 * kMib});
  CHECK(beside.workspace_f_bytes == alone.workspace_f_bytes + kMib);
  CHECK(beside.workspace_b_bytes == alone.workspace_b_bytes + kMib - 2 * kMib);
  CHECK(alone.workspace_u_bytes == 0);
  job.precision.gradient_bytes = 2;
  CHECK(job_stage_memory(layers, llama_shape(job)).workspace_u_bytes == alone.gradient_bytes / 4);
}

}  // namespace plumb

TEST_SUITE_END();
