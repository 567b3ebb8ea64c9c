#include <set>

#include <doctest/doctest.h>

#include "tests/trainer/pytorch/stored_vectors.hpp"
#include "tests/trainer/tiny_pipeline.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;
using plumb::testing::distance;
using plumb::testing::drawn;
using plumb::testing::ids_of;
using plumb::testing::numbers_of;
using plumb::testing::stored;

namespace {

constexpr double kTolerance = 1e-12;
constexpr std::int64_t kOurWidth = 8;
constexpr std::int64_t kWords = 11;
constexpr MicrobatchShape kTokens{.samples = 2, .sequence = 5};

/// A layer as make_vectors.py computes it under this name.
struct StoredCase {
  std::string name;
  LayerSpec layer;
  MicrobatchShape shape = kTokens;
};

LayerSpec image_layer(LayerKind kind, std::int64_t height, std::int64_t columns, std::int64_t channels) {
  LayerSpec layer{.kind = kind, .name = "layer"};
  layer.height = height;
  layer.columns = columns;
  layer.channels = channels;
  layer.width = height * columns * channels;
  return layer;
}

std::vector<StoredCase> image_cases() {
  std::vector<StoredCase> cases;
  const auto convolution = [&](const std::string& name, std::int64_t kernel, std::int64_t stride) {
    LayerSpec layer = image_layer(LayerKind::kConvolution, 6, 5, 3);
    layer.filters = 4;
    layer.kernel = kernel;
    layer.stride = stride;
    layer.padding = kernel / 2;
    cases.push_back({"convolution_" + name, layer, {2, 1}});
  };
  convolution("3x3", 3, 1);
  convolution("3x3_stride_2", 3, 2);
  convolution("1x1_stride_2", 1, 2);
  cases.push_back({"batch_norm", image_layer(LayerKind::kBatchNorm, 3, 3, 4), {3, 1}});
  cases.push_back({"group_norm", image_layer(LayerKind::kGroupNorm, 3, 3, 4), {3, 1}});
  cases.back().layer.groups = 2;
  cases.push_back({"relu", {.kind = LayerKind::kRelu, .name = "layer", .width = 36}, {3, 1}});
  cases.push_back({"max_pool", image_layer(LayerKind::kMaxPool, 6, 6, 3), {2, 1}});
  cases.back().layer.kernel = 3;
  cases.back().layer.stride = 2;
  cases.back().layer.padding = 1;
  cases.push_back({"average_pool", image_layer(LayerKind::kAveragePool, 6, 6, 3), {2, 1}});
  cases.back().layer.kernel = cases.back().layer.stride = 2;
  cases.push_back({"average_pool_whole", image_layer(LayerKind::kAveragePool, 4, 5, 3), {2, 1}});
  return cases;
}

std::vector<StoredCase> attention_cases() {
  std::vector<StoredCase> cases;
  const auto add = [&](const std::string& name, std::int64_t heads, std::int64_t kv_heads) -> LayerSpec& {
    cases.push_back({name,
                     {.kind = LayerKind::kAttention,
                      .name = "layer",
                      .width = kOurWidth,
                      .heads = heads,
                      .kv_heads = kv_heads,
                      .rotary = kv_heads < heads,
                      .bias = kv_heads == heads}});
    return cases.back().layer;
  };
  add("attention_causal", 4, 4);
  add("attention_to_all", 4, 4).causal = false;
  add("attention_torch_class", 4, 4).causal = false;
  add("attention_grouped_rotary", 4, 2);
  add("attention_two_wide_heads_rotary", 2, 1);
  add("attention_rotary_base", 2, 1).turns.base = 500;
  add("attention_rotary_linear", 2, 1).turns.factor = 4;
  add("attention_rotary_llama3", 2, 1).turns = {.base = 10000, .factor = 8, .low = 1, .high = 4, .original = 64};
  LayerSpec& window = add("attention_window", 2, 1);
  window.window = 2;
  window.qkv_bias = true;
  for (const bool causal : {true, false}) {
    const LayerSpec core{
        .kind = LayerKind::kAttentionCore, .name = "layer", .width = kOurWidth, .heads = 4, .causal = causal};
    cases.push_back({causal ? "attention_core_causal" : "attention_core_to_all", core});
  }
  return cases;
}

std::vector<StoredCase> other_cases() {
  const auto norm = [](LayerKind kind, bool bias, double epsilon) {
    LayerSpec layer{.kind = kind, .name = "layer", .width = kOurWidth, .bias = bias};
    layer.epsilon = epsilon;
    return layer;
  };
  const LayerSpec linear{.kind = LayerKind::kLinear, .name = "layer", .width = 6, .outputs = kOurWidth};
  LayerSpec unbiased = linear;
  unbiased.bias = false;
  LayerSpec words{.kind = LayerKind::kEmbedding, .name = "layer", .width = kOurWidth, .vocabulary = kWords};
  LayerSpec places = words;
  places.positions = 6;
  LayerSpec head = words;
  head.kind = LayerKind::kHead;
  LayerSpec classifier = words;
  classifier.kind = LayerKind::kClassifier;
  std::vector<StoredCase> cases{{"linear", linear},
                                {"linear_without_bias", unbiased},
                                {"layer_norm", norm(LayerKind::kLayerNorm, true, 1e-5)},
                                {"layer_norm_epsilon", norm(LayerKind::kLayerNorm, true, 0.01)},
                                {"layer_norm_without_bias", norm(LayerKind::kLayerNorm, false, 1e-5)},
                                {"rms_norm", norm(LayerKind::kRmsNorm, true, 1e-5)},
                                {"rms_norm_epsilon", norm(LayerKind::kRmsNorm, true, 0.01)},
                                {"embedding", words},
                                {"embedding_positions", places},
                                {"head", head},
                                {"classifier", classifier}};
  const std::vector<std::pair<std::string, Activation>> activations{{"gelu_tanh", Activation::kGeluTanh},
                                                                    {"gelu", Activation::kGelu},
                                                                    {"relu", Activation::kRelu},
                                                                    {"silu", Activation::kSilu}};
  for (const auto& [name, activation] : activations) {
    LayerSpec mlp{.kind = LayerKind::kMlp, .name = "layer", .width = kOurWidth, .hidden = 12};
    mlp.activation = activation;
    cases.push_back({"mlp_" + name, mlp});
    mlp.gated = true;
    mlp.bias = false;
    cases.push_back({"mlp_gated_" + name, mlp});
  }
  return cases;
}

std::vector<StoredCase> all_cases() {
  std::vector<StoredCase> all = image_cases();
  for (const auto& part : {attention_cases(), other_cases()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Layers with adapters, as make_lora_vectors.py has them.
std::vector<StoredCase> adapter_cases() {
  const LayerSpec linear{.kind = LayerKind::kLinear, .name = "layer", .width = 6, .outputs = kOurWidth};
  const LayerSpec mlp{.kind = LayerKind::kMlp, .name = "layer", .width = kOurWidth, .hidden = 12};
  LayerSpec gated = mlp;
  gated.gated = true;
  gated.bias = true;
  const LayerSpec attention{.kind = LayerKind::kAttention, .name = "layer", .width = kOurWidth, .heads = 4};
  std::vector<StoredCase> cases{{"lora_linear", linear},           {"lora_mlp", mlp},
                                {"lora_gated_mlp", gated},         {"lora_attention", attention},
                                {"lora_attention_qkv", attention}, {"frozen_mlp", mlp}};
  for (StoredCase& of : cases) {
    const bool all = of.name != "lora_attention_qkv";
    of.layer.frozen = true;
    if (of.name == "frozen_mlp") continue;
    of.layer.lora = {.rank = 3, .alpha = 5, .targets = all ? LoraTargets::kAll : LoraTargets::kQkv};
  }
  return cases;
}

/// The layer between two others that only give it its place.
std::vector<LayerSpec> in_network(const LayerSpec& layer) {
  std::vector<LayerSpec> chain;
  if (layer.kind != LayerKind::kEmbedding) {
    chain.push_back({.kind = LayerKind::kLinear, .name = "before", .width = 1, .outputs = input_width(layer)});
  }
  chain.push_back(layer);
  if (layer.kind != LayerKind::kHead && layer.kind != LayerKind::kClassifier) {
    chain.push_back({.kind = LayerKind::kProfiled, .name = "after"});
  }
  return chain;
}

/// Output, input gradient and gradients of the parameters, by the names of the stored tensors.
std::map<std::string, std::vector<double>> computed(const StoredCase& of, const SafetensorsFile& words) {
  const bool begins = of.layer.kind == LayerKind::kEmbedding;
  const LayerRange range = begins ? LayerRange{0, 1} : LayerRange{1, 2};
  TinyStage<double> stage(in_network(of.layer), range, of.shape);
  const auto part = [](const ParameterFacts& parameter) { return parameter.name.substr(std::string("layer.").size()); };
  const auto draw = [&](const std::vector<ParameterFacts>& parameters, double* weights) {
    for (const ParameterFacts& parameter : parameters) {
      const std::vector<double> values =
          drawn(of.name + "/" + part(parameter), static_cast<std::size_t>(parameter.count()));
      weights = std::copy(values.begin(), values.end(), weights);
    }
  };
  draw(stage.layout.parameters, stage.weights.data());
  draw(stage.layout.frozen, stage.frozen.data());
  const auto numbers = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes) / sizeof(double); };
  const std::vector<std::int32_t> tokens = ids_of(words.at("tokens"));
  const std::vector<std::int32_t> targets = ids_of(words.at("targets"));
  double loss = 0;
  StageStash stash(stage.layout, stage.arena);
  const std::vector<double> input = drawn(of.name + "/input", begins ? 0 : numbers(stage.layout.memory.input_bytes));
  stage.module.forward(stage.read(), stash.begin_forward(stage.received(input)), {tokens.data(), targets.data()},
                       &loss);
  std::map<std::string, std::vector<double>> results;
  results["output"] = values_of<double>(stash.end_forward());
  const std::vector<double> output_grad = drawn(of.name + "/output_grad", results["output"].size());
  if (results["output"].empty()) results["output"] = {loss};
  stage.module.input_grad(stage.read(), stage.gradients.data(), stash.begin_input_grad(stage.received(output_grad)));
  results["input_grad"] = values_of<double>(stash.end_input_grad());
  stage.module.weight_grad(stage.gradients.data(), stash.begin_weight_grad());
  stash.end_weight_grad();
  const double* gradients = stage.gradients.data();
  for (const ParameterFacts& parameter : stage.layout.parameters) {
    results["gradients/" + part(parameter)] = {gradients, gradients + parameter.count()};
    gradients += parameter.count();
  }
  return results;
}

}  // namespace

TEST_CASE("every layer computes what PyTorch computes, forward and backward, to 1e-12") {
  const SafetensorsFile file(stored("layers.safetensors"));
  std::size_t compared = 2;  // tokens and targets
  for (const StoredCase& of : all_cases()) {
    CAPTURE(of.name);
    const auto results = computed(of, file);
    for (const auto& [what, values] : results) {
      CAPTURE(what);
      if (values.empty()) continue;  // an embedding has no input gradient
      const double error = distance(values, numbers_of(file.at(of.name + "/" + what)));
      CHECK(error < kTolerance);
      ++compared;
    }
  }
  CHECK(compared == file.tensors().size());
}

TEST_CASE("layers with adapters compute what the released loralib computes, forward and backward, to 1e-12") {
  const SafetensorsFile words(stored("layers.safetensors"));
  const SafetensorsFile file(stored("lora.safetensors"));
  std::size_t compared = 0;
  for (const StoredCase& of : adapter_cases()) {
    CAPTURE(of.name);
    for (const auto& [what, values] : computed(of, words)) {
      CAPTURE(what);
      CHECK(distance(values, numbers_of(file.at(of.name + "/" + what))) < kTolerance);
      ++compared;
    }
  }
  CHECK(compared == file.tensors().size());
}

TEST_SUITE_END();
