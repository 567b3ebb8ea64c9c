#include "models/import/config_layers.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

namespace plumb {
namespace {

const ConfigKeys& width_keys() {
  static const ConfigKeys keys("hidden_size", "n_embd", "n_embed", "d_model");
  return keys;
}

/// A size that some files give as a list with an entry for every layer: all must be the same. 0 where it is not there.
std::int64_t alike_size(const ConfigReader& config, const ConfigKeys& keys) {
  const auto value = config.given(keys);
  if (!value || !value->is_array() || value->size() == 0) return config.size(keys, 0);
  std::optional<std::int64_t> first;
  for (const JsonValue& one : value->elements()) {
    const std::int64_t size = one.integer(0, std::int64_t{1} << 24);
    if (first && size != *first)
      one.fail("layers of unlike sizes have no price here, expected " + std::to_string(*first));
    first = size;
  }
  return *first;
}

std::int64_t required_alike(const ConfigReader& config, const ConfigKeys& keys) {
  const auto value = config.given(keys);
  return value && value->is_array() ? alike_size(config, keys) : config.size(keys);
}

/// Whether layer `k` has an indexer of its own; without one it sees the keys that an earlier layer's chose (GLM-5).
bool chooses_keys(const ConfigReader& config, std::int64_t k) {
  std::int64_t at = 0;
  if (const auto types = config.given("indexer_types")) {
    for (const JsonValue& type : types->elements()) {
      if (at++ == k) return type.text() != "shared";
    }
  }
  if (const auto pattern = config.given("index_topk_pattern"); pattern && pattern->is_string()) {
    const auto place = static_cast<std::size_t>(k);
    return place >= pattern->text().size() || pattern->text()[place] != 'S';
  }
  const std::int64_t every = std::max<std::int64_t>(1, config.size("index_topk_freq", 1));
  const std::int64_t first = config.size("index_skip_topk_offset", 2) - 1;
  return std::max<std::int64_t>(0, k - first) % every == 0;
}

/// LFM2 takes two thirds of what its file says, times a factor, rounded up.
std::int64_t adjusted_width(const ConfigReader& config) {
  std::int64_t hidden = config.size(ConfigKeys("block_ff_dim", "intermediate_size"));
  const auto multiple = std::max<std::int64_t>(1, config.size("block_multiple_of", 256));
  const double factor = config.real("block_ffn_dim_multiplier", 1);
  if (!config.flag("block_auto_adjust_ff_dim", true)) return hidden;
  hidden = static_cast<std::int64_t>(factor * static_cast<double>(2 * hidden / 3));
  return (hidden + multiple - 1) / multiple * multiple;
}

}  // namespace

ConfigLayers::ConfigLayers(const ConfigReader& config, const ModelFamily& family, ConfigArithmetic& arithmetic)
    : config_(config),
      family_(family),
      arithmetic_(arithmetic),
      width_(config.size(width_keys())),
      vocabulary_(config.size("vocab_size")) {
  norm_["kind"] = family.layer_norm ? "layer_norm" : "rms_norm";
  if (family.layer_norm && !family.norm_bias) norm_["bias"] = false;
  arithmetic_.add_epsilon(
      norm_, ConfigKeys("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon"),
      family.layer_norm ? 1e-5 : 1e-6);
  if (family.type == "gemma") norm_["costs_only"] = "model_type gemma: norms scale by 1 + weight";
}

LayerFieldValues ConfigLayers::embedding() const {
  LayerFieldValues layer{{"kind", "embedding"}};
  if (family_.positions == Positions::kLearned) {
    layer["positions"] =
        config_.size(ConfigKeys("n_positions", "max_position_embeddings")) + config_.size("extra_positions", 0);
  }
  if (family_.type == "gemma") {
    layer["costs_only"] = "model_type gemma: rows are scaled by sqrt(hidden_size)";
  } else if (!family_.trained) {
    layer["costs_only"] = "model_type " + std::string(family_.type) + ": only its costs are known";
  }
  return layer;
}

LayerFieldValues ConfigLayers::head(bool tied) const {
  LayerFieldValues layer{{"kind", "head"}, {"tied", tied}};
  if (config_.flag("lm_head_bias", family_.head_bias)) layer["side_parameters"] = vocabulary_;
  return layer;
}

LayerFieldValues ConfigLayers::mixer(Mixer kind, std::int64_t k, bool positions) const {
  switch (kind) {
    case Mixer::kFull:
    case Mixer::kSliding:
    case Mixer::kChunked:
    case Mixer::kBoth:
      return family_.latent ? latent(k) : attention(kind, k, positions);
    case Mixer::kMamba:
      return mamba();
    default:
      return recurrence(kind);
  }
}

void ConfigLayers::set_biases(LayerFieldValues& attention) const {
  const bool own = config_.flag(ConfigKeys("use_qkv_bias", "qkv_bias", "add_qkv_bias"), false);
  const bool all = config_.flag(ConfigKeys("attention_bias", "use_bias", "enable_bias", "bias"), false);
  const bool out = config_.flag(ConfigKeys("attention_out_bias", "o_bias"), false);
  const bool whole = family_.qkv_only ? all && out : all;
  attention["bias"] = whole;
  attention["qkv_bias"] = family_.qkv_bias || own || (all && !whole);
}

LayerFieldValues ConfigLayers::attention(Mixer kind, std::int64_t k, bool positions) const {
  const bool slides = kind == Mixer::kSliding;
  const auto size_of = [&](std::string_view sliding, const ConfigKeys& keys, std::int64_t otherwise) {
    const std::int64_t usual = config_.size(keys, otherwise);
    return slides ? config_.size(sliding, usual) : usual;
  };
  const std::int64_t all = config_.size(ConfigKeys("num_attention_heads", "n_head", "n_heads"));
  const std::int64_t heads = slides ? config_.size("swa_num_attention_heads", all) : all;
  const bool one_key = config_.flag("multi_query", false) && !config_.flag("new_decoder_architecture", false);
  const std::int64_t keys =
      size_of("swa_num_key_value_heads", ConfigKeys("num_key_value_heads", "num_kv_heads"), heads);
  const std::int64_t head = size_of("swa_head_dim", ConfigKeys("head_dim", "attention_head_dim"), 0);
  LayerFieldValues layer{{"kind", "attention"}, {"heads", heads}};
  const std::int64_t groups = one_key ? 1 : keys;
  if (family_.positions != Positions::kLearned || groups != heads) layer["kv_heads"] = groups;
  if (head > 0 && head * heads != width_) layer["head_width"] = head;
  if (const std::int64_t value = size_of("swa_v_head_dim", "v_head_dim", 0); value > 0 && value != head) {
    layer["value_width"] = value;
  }
  set_biases(layer);
  const bool norms = config_.flag(ConfigKeys("use_qk_norm", "qk_norm", "qk_layernorm"), true);
  if (norms && family_.head_norms == HeadNorms::kHeads) layer["head_norm"] = true;
  if (norms && family_.head_norms == HeadNorms::kWhole) layer["whole_norm"] = true;
  const std::string_view sink = slides ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias";
  if (config_.flag(sink, family_.sinks)) layer["sinks"] = true;
  if (config_.flag(ConfigKeys("attn_output_gate", "attention_output_gate"), family_.gate)) layer["gated"] = true;
  if (positions && family_.positions == Positions::kRotary) {
    layer["rotary"] = true;
    arithmetic_.add_rotary(layer, config_.size("max_position_embeddings", 2048));
  }
  if (config_.flag("use_bidirectional_attention", false)) {
    arithmetic_.refuse(layer, "use_bidirectional_attention", "false");
  }
  if (family_.type == "gpt2") {
    if (!config_.flag("scale_attn_weights", true)) arithmetic_.refuse(layer, "scale_attn_weights", "true");
    if (config_.flag("scale_attn_by_inverse_layer_idx", false)) {
      arithmetic_.refuse(layer, "scale_attn_by_inverse_layer_idx", "false");
    }
  }
  if (family_.windows != Windows::kPattern) arithmetic_.add_window(layer, family_.windows, k);
  if (slides && family_.windows == Windows::kPattern) {
    arithmetic_.set_window(layer, config_.size(ConfigKeys("sliding_window", "sliding_window_size"), 0));
  }
  if (kind == Mixer::kChunked) layer["chunk"] = config_.size("attention_chunk_size");
  return layer;
}

LayerFieldValues ConfigLayers::latent(std::int64_t k) const {
  // How far its positions turn has no price; the others are those of attention without latents.
  config_.given(ConfigKeys("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor",
                           "num_key_value_heads", "head_dim", "attention_bias"));
  const std::int64_t heads = config_.size("num_attention_heads");
  LayerFieldValues layer{{"kind", "latent_attention"},
                         {"heads", heads},
                         {"query_rank", config_.size("q_lora_rank", 0)},
                         {"key_rank", config_.size("kv_lora_rank")},
                         {"head_width", config_.size("qk_nope_head_dim")},
                         {"rotary_width", config_.size("qk_rope_head_dim")},
                         {"value_width", config_.size("v_head_dim", width_ / heads)}};
  if (const std::int64_t chosen = config_.size("index_topk", 0); chosen > 0) {
    layer["index_keys"] = chosen;
    if (!chooses_keys(config_, k)) return layer;
    layer["index_heads"] = config_.size("index_n_heads");
    layer["index_width"] = config_.size("index_head_dim");
  }
  return layer;
}

LayerFieldValues ConfigLayers::mamba() const {
  const std::int64_t heads = config_.size(ConfigKeys("mamba_n_heads", "mamba_num_heads", "num_heads"));
  const ConfigKeys head("mamba_d_head", "mamba_head_dim", "head_dim");
  const auto said = config_.given(head);
  const std::int64_t inner =
      config_.size("mamba_d_ssm", config_.size(ConfigKeys("mamba_expand", "expand"), 2) * width_);
  return {{"kind", "mamba"},
          {"heads", heads},
          {"head_width", said && said->is_string() ? inner / heads : config_.size(head, inner / heads)},
          {"state", config_.size(ConfigKeys("mamba_d_state", "ssm_state_size", "state_size"))},
          {"groups", config_.size(ConfigKeys("mamba_n_groups", "n_groups"), 1)},
          {"kernel", config_.size(ConfigKeys("mamba_d_conv", "conv_kernel"), 4)}};
}

LayerFieldValues ConfigLayers::recurrence(Mixer kind) const {
  if (kind == Mixer::kDelta) {
    return {{"kind", "mamba"},
            {"heads", config_.size("linear_num_value_heads")},
            {"head_width", config_.size("linear_value_head_dim")},
            {"state", config_.size("linear_key_head_dim")},
            {"groups", config_.size("linear_num_key_heads")},
            {"kernel", config_.size("linear_conv_kernel_dim", 4)},
            {"delta", true}};
  }
  if (kind == Mixer::kKeyDelta) {
    const auto linear = config_.given("linear_attn_config");
    if (!linear) config_.fail("linear_attn_config", "expected 'linear_attn_config' with linear attention");
    const std::int64_t heads = linear->at("num_heads").integer(1, std::int64_t{1} << 16);
    const std::int64_t head = linear->at("head_dim").integer(1, std::int64_t{1} << 16);
    const auto kernel = linear->find("short_conv_kernel_size");
    return {{"kind", "mamba"}, {"heads", heads},   {"head_width", head},
            {"state", head},   {"groups", heads},  {"kernel", kernel ? kernel->integer(0, 15) : std::int64_t{4}},
            {"delta", true},   {"gate_rank", head}};
  }
  if (kind == Mixer::kLightning) {
    const std::int64_t heads = config_.size("num_attention_heads");
    const std::int64_t head = config_.size("head_dim", width_ / heads);
    return {{"kind", "mamba"},           {"heads", heads},     {"head_width", head}, {"state", head}, {"groups", heads},
            {"kernel", std::int64_t{0}}, {"fixed_decay", true}};
  }
  const std::int64_t inner = config_.size("conv_dim", width_);
  constexpr std::int64_t kParts = 64;  // tensor ranks divide the features, which have no heads
  const std::int64_t heads = inner % kParts == 0 ? inner / kParts : 1;
  return {{"kind", "mamba"},
          {"heads", heads},
          {"head_width", inner / heads},
          {"state", std::int64_t{0}},
          {"kernel", config_.size("conv_L_cache", 3)}};
}

std::int64_t ConfigLayers::mlp_hidden() const {
  if (family_.type == "lfm2") return adjusted_width(config_);
  if (family_.experts && config_.given("shared_intermediate_size")) return config_.size("shared_intermediate_size");
  if (const std::int64_t dense = config_.size("intermediate_size_mlp", 0); dense > 0) return dense;
  const ConfigKeys keys("intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim");
  if (!config_.given(keys) && family_.four_widths) return 4 * width_;
  return required_alike(config_, keys);
}

LayerFieldValues ConfigLayers::mlp() const {
  const std::int64_t hidden = mlp_hidden();
  LayerFieldValues layer{{"kind", "mlp"},
                         {"hidden", hidden},
                         {"gated", family_.gated},
                         {"bias", config_.flag(ConfigKeys("mlp_bias", "use_bias", "enable_bias", "bias"), false)}};
  arithmetic_.add_activation(
      layer, ConfigKeys("activation_function", "hidden_activation", "mlp_hidden_act", "activation", "hidden_act"),
      family_.type == "gemma" ? "gelu_pytorch_tanh" : "silu");
  return layer;
}

/// Shared experts are given by their number, or by the width of all of them.
void ConfigLayers::set_shared(LayerFieldValues& experts) const {
  const std::int64_t hidden = std::get<std::int64_t>(experts.at("hidden"));
  const ConfigKeys counts("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert");
  const std::int64_t width = config_.size(
      ConfigKeys("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"),
      0);
  const bool one = config_.flag("expert_is_shared", false);
  const std::int64_t count = alike_size(config_, counts);
  if (width > 0 && width % hidden != 0) {
    experts["shared_experts"] = std::int64_t{1};
    experts["shared_hidden"] = width;
    return;
  }
  experts["shared_experts"] = width > 0 ? width / hidden : one ? std::int64_t{1} : count;
}

LayerFieldValues ConfigLayers::experts() const {
  LayerFieldValues layer{
      {"kind", "moe"},
      {"hidden", required_alike(config_, ConfigKeys("moe_intermediate_size", "intermediate_size"))},
      {"experts", config_.size(ConfigKeys("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"))},
      {"experts_per_token", required_alike(config_, ConfigKeys("num_experts_per_tok", "num_experts_per_token",
                                                               "experts_per_token", "moe_k", "moe_topk"))},
      {"gated", family_.gated},
      {"bias", family_.expert_bias}};
  set_shared(layer);
  if (const std::int64_t latent = config_.size("moe_latent_size", 0); latent > 0) layer["latent_width"] = latent;
  if (family_.router_bias) layer["router_bias"] = true;
  if (family_.shared_gate && std::get<std::int64_t>(layer.at("shared_experts")) > 0) layer["shared_gate"] = true;
  arithmetic_.add_activation(layer, ConfigKeys("hidden_activation", "mlp_hidden_act", "hidden_act"), "silu");
  return layer;
}

}  // namespace plumb
