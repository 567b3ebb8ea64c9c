#include "models/import/layer_pattern.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace plumb {
namespace {

using Mixers = std::vector<Mixer>;

/// Words of `layer_types`; "linear_attention" is the family's own.
constexpr std::array<std::pair<std::string_view, Mixer>, 9> kMixerWords{{
    {"full_attention", Mixer::kFull},
    {"attention", Mixer::kFull},
    {"global_attention", Mixer::kFull},
    {"sliding_attention", Mixer::kSliding},
    {"chunked_attention", Mixer::kChunked},
    {"mamba", Mixer::kMamba},
    {"mamba2", Mixer::kMamba},
    {"conv", Mixer::kConvolution},
    {"hybrid", Mixer::kBoth},
}};

Mixer mixer_called(const JsonValue& word, const ModelFamily& family) {
  if (word.text() == "linear_attention") return family.linear;
  // The keys of the indexer say what it leaves.
  const bool indexed = word.text() == "deepseek_sparse_attention" || word.text() == "indexed_attention";
  if (indexed && family.latent) return Mixer::kFull;
  for (const auto& [name, mixer] : kMixerWords) {
    if (name == word.text()) return mixer;
  }
  word.fail("a layer of type '" + std::string(word.text()) +
            "' has no price here, expected one of full_attention, "
            "sliding_attention, chunked_attention, linear_attention, mamba, conv");
}

/// A list with an entry for every layer: 1 or `true` for one mixer, 0 for another. Too short a list is refused.
Mixers of_list(const JsonValue& list, std::size_t layers, Mixer ones, Mixer zeros) {
  Mixers mixers;
  for (const JsonValue& one : list.elements()) {
    mixers.push_back((one.is_integer() ? one.integer() != 0 : one.boolean()) ? ones : zeros);
  }
  if (mixers.size() < layers) list.fail("expected an entry for every layer, found " + std::to_string(mixers.size()));
  mixers.resize(layers);
  return mixers;
}

Mixers of_types(const JsonValue& types, std::size_t layers, const ModelFamily& family) {
  Mixers mixers;
  for (const JsonValue& type : types.elements()) mixers.push_back(mixer_called(type, family));
  if (mixers.size() < layers) types.fail("expected a type for every layer, found " + std::to_string(mixers.size()));
  mixers.resize(layers);
  return mixers;
}

/// Every n-th layer is full, the others are `others`; n = 0: all are full.
Mixers every(std::int64_t n, std::size_t layers, Mixer others) {
  Mixers mixers(layers, Mixer::kFull);
  for (std::size_t k = 0; n > 0 && k < layers; ++k) {
    if ((static_cast<std::int64_t>(k) + 1) % n != 0) mixers[k] = others;
  }
  return mixers;
}

/// Layers by number, which begin with `first`.
Mixers of_numbers(const std::vector<std::int64_t>& full, std::size_t layers, Mixer others, std::int64_t first = 0) {
  Mixers mixers(layers, others);
  for (const std::int64_t number : full) {
    const std::int64_t at = number - first;
    if (at >= 0 && at < static_cast<std::int64_t>(layers)) mixers[static_cast<std::size_t>(at)] = Mixer::kFull;
  }
  return mixers;
}

/// "LLLG": what a pattern of letters says, or every n-th.
std::int64_t pattern_length(const std::optional<JsonValue>& pattern) {
  if (!pattern) return 0;
  return pattern->is_string() ? static_cast<std::int64_t>(pattern->text().size()) : pattern->integer(0);
}

Mixers windowed_mixers(const ConfigReader& config, std::size_t layers, const ModelFamily& family) {
  const std::int64_t n = pattern_length(
      config.given(ConfigKeys("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")));
  if (family.windows == Windows::kPattern && n > 0 && config.size("sliding_window", 0) > 0) {
    return every(n, layers, Mixer::kSliding);
  }
  return Mixers(layers, Mixer::kFull);
}

Mixers mixers_of(const ConfigReader& config, std::size_t layers, const ModelFamily& family) {
  if (family.type == "falcon_h1") return Mixers(layers, Mixer::kBoth);
  if (family.type == "mamba2") return Mixers(layers, Mixer::kMamba);
  const auto types = config.given(ConfigKeys("layer_types", "layers_block_type"));
  if (types && family.windows == Windows::kPattern) return of_types(*types, layers, family);
  if (const auto list = config.given("attn_type_list")) return of_list(*list, layers, Mixer::kFull, family.linear);
  if (const auto list = config.given("hybrid_layer_pattern")) {
    return of_list(*list, layers, Mixer::kSliding, Mixer::kFull);
  }
  if (const auto linear = config.given("linear_attn_config")) {
    std::vector<std::int64_t> full;
    for (const JsonValue& one : linear->at("full_attn_layers").elements()) full.push_back(one.integer());
    return of_numbers(full, layers, family.linear, 1);
  }
  if (config.given("attn_layer_indices")) {
    return of_numbers(config.list("attn_layer_indices"), layers, Mixer::kMamba);
  }
  if (config.given("full_attn_idxs")) return of_numbers(config.list("full_attn_idxs"), layers, Mixer::kConvolution);
  if (const std::int64_t n = config.size("full_attention_interval", 0); n > 0) return every(n, layers, family.linear);
  if (config.size("attention_chunk_size", 0) > 0) {
    if (const auto list = config.given("no_rope_layers"); list && list->size() > 0) {
      return of_list(*list, layers, Mixer::kChunked, Mixer::kFull);
    }
    return every(config.size("no_rope_layer_interval", 0), layers, Mixer::kChunked);
  }
  return windowed_mixers(config, layers, family);
}

/// Which layers route, where single layers say it: lists of layers, or of kinds.
std::optional<std::vector<bool>> listed_sparse(const ConfigReader& config, std::size_t layers) {
  std::vector<bool> sparse(layers, false);
  const auto kinds = config.given("mlp_layer_types");
  const auto freq = config.given("moe_layer_freq");
  const auto list = kinds ? kinds : freq && freq->is_array() ? freq : std::nullopt;
  if (list) {
    if (list->size() < layers) list->fail("expected an entry for every layer, found " + std::to_string(list->size()));
    std::size_t k = 0;
    for (const JsonValue& one : list->elements()) {
      if (k == layers) break;
      sparse[k++] = one.is_string() ? one.text() == "sparse" : one.integer() != 0;
    }
    return sparse;
  }
  const std::vector<std::int64_t> routed = config.list("moe_layers");
  if (routed.empty()) return std::nullopt;
  for (const std::int64_t k : routed) {
    if (k >= 0 && k < static_cast<std::int64_t>(layers)) sparse[static_cast<std::size_t>(k)] = true;
  }
  return sparse;
}

bool routes(const ConfigReader& config, std::int64_t k, std::int64_t layers) {
  const std::vector<std::int64_t> dense = config.list("mlp_only_layers");
  if (std::ranges::find(dense, k) != dense.end()) return false;
  const auto step = [&](const ConfigKeys& keys) { return std::max<std::int64_t>(1, config.size(keys, 1)); };
  if (k < config.size(ConfigKeys("first_k_dense_replace", "num_dense_layers"), 0)) return false;
  if (const auto freq = config.given("moe_layer_freq")) {
    if (k % std::max<std::int64_t>(1, freq->integer(0)) != 0) return false;
  }
  const auto last = config.given("moe_layer_end_index");
  const std::int64_t end = last && last->integer() >= 0 ? last->integer() : layers - 1;
  if (k < config.size("moe_layer_start_index", 0) || k > end) return false;
  return (k + 1) % step(ConfigKeys("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval")) == 0;
}

}  // namespace

LayerPattern layer_pattern(const ConfigReader& config, const ModelFamily& family) {
  const std::int64_t layers = config.layers(ConfigKeys("num_hidden_layers", "n_layer", "num_layers"));
  const auto count = static_cast<std::size_t>(layers);
  LayerPattern pattern{mixers_of(config, count, family), std::vector<bool>(count, false)};
  if (!family.experts) return pattern;
  const bool any =
      config.size(ConfigKeys("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"), 1) > 0;
  if (const auto listed = listed_sparse(config, count)) {
    pattern.sparse = *listed;
    return pattern;
  }
  for (std::int64_t k = 0; k < layers; ++k) {
    pattern.sparse[static_cast<std::size_t>(k)] = any && routes(config, k, layers);
  }
  return pattern;
}

}  // namespace plumb
