#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/text_file.hpp"
#include "models/import/model_config.hpp"
#include "models/import/model_families.hpp"
#include "models/jobs/job_kernels.hpp"
#include "models/jobs/job_shape.hpp"
#include "models/network/network_io.hpp"
#include "models/stages/network_costs.hpp"
#include "models/stages/whole_layers.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;
using plumb::testing::error_message;

struct PublishedModel {
  double parameters = 0;
  std::string config;
};

const std::map<std::string, PublishedModel>& known_models() {
  static const std::map<std::string, PublishedModel> models = [] {
    std::map<std::string, PublishedModel> found;
    std::istringstream lines(
        read_text_file(plumb::testing::in_source("tests/models/import/published_models.txt"), kNetworkFile));
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line.front() == '#') continue;
      std::istringstream words(line);
      std::string name;
      PublishedModel model;
      words >> name >> model.parameters;
      std::getline(words, model.config);
      found[name] = model;
    }
    return found;
  }();
  return models;
}

Network model_named(const std::string& name) {
  return network_from_model_config(known_models().at(name).config, name + "/config.json");
}

/// The layers of this kind, also inside of residual blocks, in order.
std::vector<LayerSpec> layers_of_kind(const Network& network, LayerKind kind) {
  std::vector<LayerSpec> found;
  for (const LayerSpec& layer : network.layers) {
    if (layer.kind == kind) found.push_back(layer);
    for (const LayerSpec& inner : layer.body) {
      if (inner.kind == kind) found.push_back(inner);
    }
  }
  return found;
}

/// FLOPs of the kernels that attend, forward, in all layers of a sample of `tokens` tokens.
double attending_flops(Network network, std::int64_t tokens) {
  network.sequence = tokens;
  const JobShape shape(network, {.microbatch_size = 1});
  double flops = 0;
  for (const LayerSpec& layer : network.layers) {
    if (layer.kind != LayerKind::kResidual) continue;
    for (const Kernel& kernel : layer_kernels(layer, shape).forward.list) {
      if (kernel.kind == Kernel::Kind::kAttention) flops += kernel.flops;
    }
  }
  return flops;
}

std::string config_refusal(const std::string& config) {
  return error_message([&] { network_from_model_config(config, "m/config.json"); });
}

}  // namespace

TEST_CASE("the configuration of every published model has its number of parameters within 1 %") {
  REQUIRE(known_models().size() > 50);
  for (const auto& model : known_models()) {
    CAPTURE(model.first);
    const Network network = model_named(model.first);
    CHECK(static_cast<double>(parameter_count(network)) == doctest::Approx(model.second.parameters).epsilon(0.01));
    CHECK(network_from_json(network_to_json(network), "again.json") == network);
    CHECK(unread_keys(network).empty());
  }
}

TEST_CASE("the layers of a model that mixes kinds are those that its configuration says") {
  const Network qwen = model_named("qwen3-next-80b");
  CHECK(layers_of_kind(qwen, LayerKind::kAttention).size() == 12);
  const std::vector<LayerSpec> delta = layers_of_kind(qwen, LayerKind::kMamba);
  REQUIRE(delta.size() == 36);
  CHECK(delta.front().delta);
  CHECK(layers_of_kind(qwen, LayerKind::kAttention).front().gated);
  CHECK(decoder_count(qwen) == 48);
  CHECK(decoder_count(model_named("granite-4.0-h-small")) == 40);
  CHECK(decoder_count(model_named("falcon-h1-7b")) == 44);
  CHECK(decoder_count(model_named("nemotron-nano-9b-v2")) == 56);  // every block is a layer
  CHECK(layers_of_kind(model_named("kimi-linear-48b"), LayerKind::kLatentAttention).size() == 7);
  CHECK(layers_of_kind(model_named("minimax-text-01"), LayerKind::kMamba).front().fixed_decay);
  CHECK(layers_of_kind(model_named("lfm2-1.2b"), LayerKind::kMamba).front().state == 0);
  const std::vector<LayerSpec> scout = layers_of_kind(model_named("llama4-scout"), LayerKind::kAttention);
  CHECK(std::ranges::count(scout, 8192, &LayerSpec::chunk) == 36);
  CHECK(std::ranges::count(scout, false, &LayerSpec::rotary) == 12);
  const std::vector<LayerSpec> gemma = layers_of_kind(model_named("gemma3-27b"), LayerKind::kAttention);
  CHECK(std::ranges::count(gemma, 1024, &LayerSpec::window) == 52);
  const std::vector<LayerSpec> oss = layers_of_kind(model_named("gpt-oss-20b"), LayerKind::kAttention);
  CHECK(std::ranges::count(oss, 128, &LayerSpec::window) == 12);
  CHECK(std::ranges::all_of(oss, &LayerSpec::sinks));
  CHECK(layers_of_kind(model_named("llama4-maverick"), LayerKind::kMoe).size() == 24);
  CHECK(layers_of_kind(model_named("glm-4.5-air"), LayerKind::kMlp).size() == 1);
}

TEST_CASE(
    "attention costs what a token sees: of a window, a part, chosen keys, or nothing where layers are recurrent") {
  constexpr std::int64_t kLongSample = 131072;
  const auto all_full = [](Network network) {
    for (LayerSpec& layer : network.layers) {
      for (LayerSpec& inner : layer.body) inner.window = inner.chunk = inner.index_keys = inner.index_heads = 0;
    }
    return attending_flops(network, kLongSample);
  };
  const auto share = [&](const char* name) {
    return attending_flops(model_named(name), kLongSample) / all_full(model_named(name));
  };
  CHECK(share("gemma3-27b") == doctest::Approx(10.0 / 62 + 52.0 / 62 * 2 * 1024 / kLongSample).epsilon(0.01));
  CHECK(share("llama4-scout") == doctest::Approx(12.0 / 48 + 36.0 / 48 * 8192 / kLongSample).epsilon(0.01));
  // 2048 keys of 65536 on average; the indexer's 64 heads of 128 numbers against 128 of 192 and 128.
  CHECK(share("deepseek-v3.2") == doctest::Approx(2048.0 / 65536 + 64.0 * 128 / (128 * (192 + 128))).epsilon(0.02));
  // A recurrence grows with the tokens, attention with their square: four times as many cost the scan four times.
  Network delta = model_named("qwen3-next-80b");
  std::erase_if(delta.layers, [](const LayerSpec& layer) {
    return std::ranges::none_of(layer.body, [](const LayerSpec& inner) { return inner.kind == LayerKind::kMamba; });
  });
  CHECK(attending_flops(delta, 4 * kLongSample) == doctest::Approx(4 * attending_flops(delta, kLongSample)));
}

TEST_CASE("a type with a layer that has no price is refused by that layer's name, and no other type is suggested") {
  CHECK(config_refusal(R"({"model_type": "jamba"})").find("a model of type 'jamba' has Mamba-1") != std::string::npos);
  CHECK(config_refusal(R"({"model_type": "rwkv7"})").find("time mixing of RWKV") != std::string::npos);
  CHECK(config_refusal(R"({"model_type": "gemma9_text"})") ==
        "m/config.json:1:16: model_type: unknown model type 'gemma9_text': its layers are not known here");
  const std::string typed = config_refusal(R"({"model_type": "qwen3_next", "hidden_size": 64, "num_hidden_layers": 1,
      "vocab_size": 8, "layer_types": ["ring_attention"]})");
  CHECK(typed.find("layer_types[0]: a layer of type 'ring_attention' has no price here") != std::string::npos);
  for (const std::string_view type : model_family_types()) CHECK_MESSAGE(unpriced_layer(type).empty(), type);
}

TEST_CASE("towers of images are left out by name, and the whole model's word on tied tables counts") {
  const Network scout = model_named("llama4-scout");
  CHECK(scout.source.find("vision_config (the language model alone)") != std::string::npos);
  const auto tied = [](const std::string& outer, const std::string& inner) {
    return network_from_model_config(R"({"model_type": "x")" + outer +
                                         R"(, "text_config": {"model_type": "qwen3", "hidden_size": 64,
        "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 9)" +
                                         inner + "}}",
                                     "m/config.json")
        .layers.back()
        .tied;
  };
  CHECK(tied(R"(, "tie_word_embeddings": true)", ""));
  CHECK(tied("", R"(, "tie_word_embeddings": true)"));
  CHECK_FALSE(tied(R"(, "tie_word_embeddings": false)", R"(, "tie_word_embeddings": true)"));
  CHECK_FALSE(tied("", ""));
}

TEST_SUITE_END();
