#include "models/import/model_config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/import/config_arithmetic.hpp"
#include "models/import/config_layers.hpp"
#include "models/import/config_reader.hpp"
#include "models/import/layer_pattern.hpp"
#include "models/import/model_families.hpp"
#include "models/network/network_io.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kLongestSequenceTaken = 8192;

/// Returns the keys that change nothing about a network or its arithmetic.
const std::set<std::string_view>& harmless_keys() {
  static const std::set<std::string_view> keys{"_name_or_path",
                                               "architectures",
                                               "auto_map",
                                               "bos_token_id",
                                               "chunk_size_feed_forward",
                                               "dtype",
                                               "eos_token_id",
                                               "gradient_checkpointing",
                                               "id2label",
                                               "initializer_range",
                                               "is_decoder",
                                               "is_encoder_decoder",
                                               "label2id",
                                               "model_type",
                                               "n_ctx",
                                               "output_attentions",
                                               "output_hidden_states",
                                               "pad_token_id",
                                               "pretraining_tp",
                                               "problem_type",
                                               "reorder_and_upcast_attn",
                                               "return_dict",
                                               "summary_activation",
                                               "summary_first_dropout",
                                               "summary_proj_to_labels",
                                               "summary_type",
                                               "summary_use_proj",
                                               "task_specific_params",
                                               "torch_dtype",
                                               "transformers_version",
                                               "unk_token_id",
                                               "use_cache"};
  return keys;
}

/// Returns further keys that change neither parameters nor work nor memory of a training: tokens, how a model writes
/// text, first weights, factors of values, which experts a router likes, and how weights were stored.
const std::set<std::string_view>& costless_keys() {
  static const std::set<std::string_view> keys = [] {
    std::set<std::string_view> all{
        // tokens and generation
        "audio_token_id", "begin_suppress_tokens", "boi_token_id", "boi_token_index", "eoi_token_id", "eoi_token_index",
        "image_token_id", "image_token_index", "img_context_token_id", "max_new_tokens", "mm_tokens_per_image",
        "sep_token_id", "mask_token_id", "use_bfloat16", "video_token_id", "vision_end_token_id",
        "vision_start_token_id", "vision_token_id", "num_logits_to_keep", "cache_implementation", "tokenizer_class",
        "prefix", "is_llama_config", "return_dict_in_generate", "vision_feature_layer",
        "vision_feature_select_strategy", "projector_hidden_act", "spatial_merge_size", "_attn_implementation",
        "_attn_implementation_autoset", "attn_implementation", "use_flash_attention", "_from_model_config",
        "quantization_config", "compression_config", "torchscript", "unsloth_version", "rope_interleave",
        "rope_interleaved", "rope_local_base_freq", "rope_scaling_type", "original_max_position_embeddings",
        "original_rope", "initial_context_length", "embd_layer", "block_use_swiglu", "block_use_xavier_init",
        "block_norm_eps", "conv_use_xavier_init", "conv_dim_out", "block_mlp_init_scale", "block_out_init_scale",
        "conv_bias", "use_pos_enc", "num_heads", "block_dim",
        // first weights and factors of values
        "attention_multiplier", "attention_in_multiplier", "attention_out_multiplier", "attn_factor", "attn_scale",
        "attn_logit_softcapping", "attn_temperature_tuning", "beta_fast", "beta_slow", "dim_model_base",
        "embedding_multiplier", "final_logit_softcapping", "floor_scale", "init_std", "initializer_m_mult",
        "key_multiplier", "lm_head_multiplier", "logit_scale", "logits_scaling", "mlp_multipliers", "mup_enabled",
        "muP", "query_pre_attn_scalar", "residual_multiplier", "residual_in_fp32", "scale_depth", "scale_emb",
        "scaling_factor", "ssm_in_multiplier", "ssm_multipliers", "ssm_out_multiplier", "swiglu_limit", "clip_qkv",
        "scale_fmt", "layernorm_full_attention_alpha", "layernorm_full_attention_beta",
        "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta", "layernorm_mlp_alpha",
        "layernorm_mlp_beta", "full_attn_alpha_factor", "full_attn_beta_factor", "linear_attn_alpha_factor",
        "linear_attn_beta_factor", "mlp_alpha_factor", "mlp_beta_factor", "postnorm", "block_size", "expansion_factor",
        "mamba_chunk_size", "chunk_size", "time_step_floor", "time_step_limit", "time_step_max", "time_step_min",
        "time_step_rank", "time_step_init_scheme", "mamba_hidden_act", "mamba_norm_before_gate", "mamba_use_mlp",
        "mamba_proj_bias", "mamba_conv_bias", "mamba_rms_norm", "mamba_ssm_dtype", "mamba_ssm_cache_dtype",
        "mamba_dt_rank", "use_mamba_kernels", "use_conv_bias", "rms_norm", "norm_before_gate", "projectors_bias",
        "fused_add_norm", "use_short_conv_bias", "layer_norm_elementwise_affine",
        "apply_residual_connection_post_layernorm", "do_layer_norm_before", "_remove_final_layer_norm", "rotary",
        "rotary_dim", "normalization_function", "init_method", "attention_softmax_in_fp32",
        "scale_attention_softmax_in_fp32", "slow_but_exact", "seq_length",
        // what routers like
        "aux_loss_alpha", "ep_size", "enable_moe_fp32_gate", "expert_selection_fn", "input_jitter_noise",
        "moe_gate_bias", "moe_norm_min", "moe_router_activation_func", "moe_router_enable_expert_bias",
        "moe_renormalize", "moe_use_aux_free", "moe_aux_loss_coeff", "moe_router_topk_scaling_factor", "n_group",
        "norm_min", "norm_topk_prob", "num_expert_group", "num_limited_groups", "output_router_logits", "route_norm",
        "route_scale", "routed_scaling_factor", "router_aux_loss_coef", "router_dtype", "router_jitter_noise",
        "router_z_loss_coef", "load_balance_coeff", "score_func", "score_function", "scoring_func", "seq_aux",
        "topk_group", "topk_method", "use_expert_bias", "use_grouped_topk", "moe_use_bias", "use_routing_bias",
        "moe_capacity", "aux_loss_free_bias", "shared_moe_mode", "mla_use_nope", "model_max_length", "moe_gate",
        "mtp_transformer_layers", "order_of_interleaved_layers", "layer_switch", "use_embedding_sharing",
        "use_gated_activation", "use_mtp", "use_parallel_block", "use_parallel_embedding", "use_parallel_residual",
        "hybrid_block_size", "qk_norm_type", "qk_head_dim", "indexer_rope_interleave", "index_init_method",
        "attention_projection_layout", "attention_value_scale", "swa_rope_theta"};
    all.insert(harmless_keys().begin(), harmless_keys().end());
    return all;
  }();
  return keys;
}

/// Returns the keys of modules that predict further tokens; a class of transformers has none of these.
const ConfigKeys& further_token_keys() {
  static const ConfigKeys keys("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers", "num_mtp_layers",
                               "mtp_num_layers");
  return keys;
}

/// A document of ours in the making.
struct Document {
  Json json{{"format", "plumbline-network"}, {"version", 1}};
  Json layers = Json::array();
  std::vector<std::string> left_out;
  std::vector<std::string> unpriced;  ///< parts of the model that would cost something
};

/// Returns a layer with its fields.
Json layer_json(const LayerFieldValues& fields) {
  Json layer = Json::object();
  for (const auto& [key, value] : fields) {
    std::visit([&, &name = key](const auto& one) { layer[name] = one; }, value);
  }
  return layer;
}

/// Names the rates of dropout, which our layers do not have.
void leave_out_dropout(const ConfigReader& config, Document& document) {
  std::string text;
  for (const std::string_view key :
       {"resid_pdrop", "embd_pdrop", "attn_pdrop", "attention_dropout", "hidden_dropout", "embedding_dropout",
        "residual_dropout", "activation_dropout", "dropout", "classifier_dropout", "layerdrop", "ffn_dropout",
        "hidden_dropout_prob", "attention_probs_dropout_prob", "output_dropout"}) {
    const double rate = config.real(key, 0);
    if (rate > 0) text += (text.empty() ? "" : ", ") + std::string(key) + " " + Json(rate).dump();
  }
  if (!text.empty()) document.left_out.push_back("dropout (" + text + ")");
}

/// Appends a residual block of a layer and the norms that stand round it; a block beside another one may have none.
void add_block(Document& document, const Json& norm, const Json& layer, NormPlace place) {
  Json body = Json::array();
  if (place != NormPlace::kAfter) body.push_back(norm);
  body.push_back(layer);
  if (place == NormPlace::kAfter || place == NormPlace::kAround) body.push_back(norm);
  document.layers.push_back({{"kind", "residual"}, {"body", std::move(body)}});
}

void add_bare_block(Document& document, const Json& layer) {
  document.layers.push_back({{"kind", "residual"}, {"body", Json::array({layer})}});
}

/// Whether MLPs read the norm of the attention beside them.
bool shares_norm(const ConfigReader& config, const ModelFamily& family) {
  if (family.norms != NormPlace::kBeside || !family.one_norm) return false;
  if (!config.flag("parallel_attn", true)) return false;
  const std::int64_t norms =
      config.size("num_ln_in_parallel_attn", config.flag("new_decoder_architecture", false) ? 2 : 1);
  return norms < 2;
}

/// By layer, whether queries and keys turn.
std::vector<bool> turning_layers(const ConfigReader& config, const ModelFamily& family, const LayerPattern& pattern) {
  const std::size_t count = pattern.mixers.size();
  const bool none = config.text("position_embedding_type", "rope") == "nope" || config.flag("alibi", false);
  std::vector<bool> turns(count, !none);
  const bool slides = std::ranges::find(pattern.mixers, Mixer::kSliding) != pattern.mixers.end();
  const std::int64_t every = config.size("no_rope_layer_interval", 0);
  const std::vector<std::int64_t> listed = config.list("no_rope_layers");
  for (std::size_t k = 0; k < count; ++k) {
    if (k < listed.size() ? listed[k] == 0 : every > 0 && (static_cast<std::int64_t>(k) + 1) % every == 0) {
      turns[k] = false;
    }
    if (family.bare_full && slides && pattern.mixers[k] == Mixer::kFull) turns[k] = false;
  }
  return turns;
}

void add_decoders(const ConfigReader& config, const ModelFamily& family, const ConfigLayers& layers,
                  Document& document) {
  const LayerPattern pattern = layer_pattern(config, family);
  const std::vector<bool> turns = turning_layers(config, family, pattern);
  const Json norm = layer_json(layers.norm());
  const bool bare_mlp = shares_norm(config, family);
  for (std::size_t k = 0; k < pattern.mixers.size(); ++k) {
    const Mixer mixer = pattern.mixers[k];
    add_block(document, norm, layer_json(layers.mixer(mixer, static_cast<std::int64_t>(k), turns[k])), family.norms);
    if (mixer == Mixer::kBoth) add_bare_block(document, layer_json(layers.mamba()));
    if (!family.mlps) continue;
    const Json mlp = layer_json(pattern.sparse[k] ? layers.experts() : layers.mlp());
    if (bare_mlp) {
      add_bare_block(document, mlp);
    } else {
      add_block(document, norm, mlp, family.norms);
    }
  }
}

/// Nemotron-H: every block is a layer by itself, of a kind that a letter or a word says.
void add_letters(const ConfigReader& config, const ConfigLayers& layers, Document& document) {
  std::string letters = config.text("hybrid_override_pattern", "");
  if (const auto words = config.given("layers_block_type"); words && letters.empty()) {
    for (const JsonValue& word : words->elements()) {
      const std::string_view kind = word.text();
      const bool mamba = kind == "mamba" || kind == "linear_attention";
      const bool attends = kind == "attention" || kind == "full_attention";
      letters += mamba ? 'M' : attends ? '*' : kind == "moe" || kind == "sparse" ? 'E' : '-';
    }
  }
  std::erase(letters, '|');
  const std::int64_t count = config.layers("num_hidden_layers");
  if (static_cast<std::int64_t>(letters.size()) != count) {
    config.fail("hybrid_override_pattern", "expected a letter for each of " + std::to_string(count) +
                                               " layers, found " + std::to_string(letters.size()));
  }
  const Json norm = layer_json(layers.norm());
  for (std::size_t k = 0; k < letters.size(); ++k) {
    LayerFieldValues layer;
    switch (letters[k]) {
      case 'M':
        layer = layers.mamba();
        break;
      case '*':
        layer = layers.mixer(Mixer::kFull, static_cast<std::int64_t>(k), false);
        break;
      case 'E':
        layer = layers.experts();
        break;
      case '-':
        layer = layers.mlp();
        break;
      default:
        config.fail("hybrid_override_pattern",
                    std::string("expected letters M, *, - and E, found '") + letters[k] + "'");
    }
    add_block(document, norm, layer_json(layer), NormPlace::kBefore);
  }
}

/// What no layer of ours has: refused, or left out and named.
void check_rest(const ConfigReader& config, Document& document) {
  if (config.flag("add_cross_attention", false)) config.fail("add_cross_attention", "expected false");
  const std::int64_t width = config.size(ConfigKeys("hidden_size", "n_embd", "n_embed", "d_model"));
  if (config.size("word_embed_proj_dim", width) != width) {
    config.fail("word_embed_proj_dim", "embeddings of another width have no price here, expected hidden_size");
  }
  if (config.given("zero_expert_num"))
    config.fail("zero_expert_num", "experts that compute nothing have no price here");
  // Of the layers that a model has none of.
  config.given(ConfigKeys("intermediate_size", "intermediate_size_mlp", "num_experts_per_tok"));
  leave_out_dropout(config, document);
  if (config.size(further_token_keys(), 0) > 0) document.unpriced.push_back("the layers that predict further tokens");
}

void build_network(const ConfigReader& config, const ModelFamily& family, ConfigArithmetic& arithmetic,
                   Document& document) {
  const ConfigLayers layers(config, family, arithmetic);
  const std::int64_t positions = config.size(ConfigKeys("n_positions", "max_position_embeddings"), 2048);
  document.json["sequence"] = std::min(positions, kLongestSequenceTaken);
  document.json["width"] = layers.width();
  document.json["vocabulary"] = layers.vocabulary();
  document.layers.push_back(layer_json(layers.embedding()));
  if (family.embedding_norm) document.layers.push_back(layer_json(layers.norm()));
  if (family.type == "nemotron_h") {
    add_letters(config, layers, document);
  } else {
    add_decoders(config, family, layers, document);
  }
  document.layers.push_back(layer_json(layers.norm()));
  document.layers.push_back(layer_json(layers.head(config.flag("tie_word_embeddings", false))));
  check_rest(config, document);
}

/// What `source` says before the parts of a model that have no price, and before the keys that nobody read; these are
/// the last that it says.
constexpr std::string_view kUnpricedTitle = "; not priced: ";
constexpr std::string_view kUnreadTitle = "; keys that are not known and not read: ";

/// Returns what was taken, what was left out, and keys that nobody knows.
std::string source_of(const ConfigReader& config, const ModelFamily& family, const ConfigArithmetic& arithmetic,
                      const Document& document) {
  std::string source = ", a Hugging Face configuration of type " + std::string(family.type);
  const auto append = [&](std::string_view title, const std::vector<std::string>& parts, std::string_view between) {
    for (std::size_t k = 0; k < parts.size(); ++k) source += std::string(k == 0 ? title : between) + parts[k];
  };
  append("; with ", arithmetic.taken(), ", ");
  append("; without ", document.left_out, " and ");
  append(kUnpricedTitle, document.unpriced, ", ");
  // What our layers compute depends on more than what they cost.
  const bool computed = family.trained && !family.experts;
  append(kUnreadTitle, config.unread(computed ? harmless_keys() : costless_keys()), ", ");
  return source;
}

const ModelFamily& family_of(const JsonValue& root) {
  const JsonValue type = root.at("model_type");
  if (const ModelFamily* family = find_model_family(type.text())) return *family;
  const std::string name(type.text());
  if (const std::string layer = unpriced_layer(name); !layer.empty()) {
    type.fail("a model of type '" + name + "' has " + layer + ", which has no price here");
  }
  // A type of nearly the same name is another model: only what is surely misspelt has a hint.
  if (name.find_first_of("0123456789_") != std::string::npos) {
    type.fail("unknown model type '" + name + "': its layers are not known here");
  }
  try {
    throw_unknown("model type", name, model_family_types());
  } catch (const Error& error) {
    type.fail(error.what());
  }
}

/// Where models of several kinds of data keep their language model.
std::optional<JsonValue> language_part(const JsonValue& root) {
  for (const char* key : {"text_config", "llm_config", "language_config"}) {
    const auto inner = root.find(key);
    if (inner && inner->is_object() && inner->find("model_type")) return inner;
  }
  return std::nullopt;
}

/// Names the towers beside a language model, "vision_config".
void leave_out_towers(const JsonValue& root, Document& document) {
  for (const JsonValue::Member& member : root.members()) {
    const bool tower = member.value.is_object() && member.key.ends_with("_config") && member.value.find("hidden_size");
    const bool text = member.key == "text_config" || member.key == "llm_config" || member.key == "language_config";
    if (tower && !text) document.unpriced.push_back(std::string(member.key) + " (the language model alone)");
  }
}

/// Whether both tables of words are one: the whole model's word counts before that of its language model.
bool is_tied(const JsonValue& whole, const JsonValue& part, const JsonValue& defaults) {
  for (const JsonValue* one : {&whole, &part, &defaults}) {
    const auto said = one->find("tie_word_embeddings");
    if (said && said->kind() == JsonValue::Kind::kBoolean) return said->boolean();
  }
  return false;
}

}  // namespace

bool is_model_config(std::string_view text) {
  return text.find("\"model_type\"") != std::string_view::npos &&
         text.find("\"plumbline-network\"") == std::string_view::npos;
}

Network network_from_model_config(std::string_view text, std::string_view file_name) {
  const JsonDocument parsed{std::string(text), std::string(file_name)};
  const JsonValue whole = parsed.root();
  const JsonValue root = language_part(whole).value_or(whole);
  const ModelFamily& family = family_of(root);
  const JsonDocument defaults{std::string(family.defaults), "defaults of " + std::string(family.type)};
  Document document;
  const std::filesystem::path path{file_name};
  const bool plain = path.stem() == "config" && path.has_parent_path();
  document.json["name"] = plain ? path.parent_path().filename().string() : path.stem().string();
  const ConfigReader config(root, defaults.root());
  ConfigArithmetic arithmetic(config);
  build_network(config, family, arithmetic, document);
  document.layers.back()["tied"] = is_tied(whole, root, defaults.root());
  leave_out_towers(whole, document);
  document.json["source"] = std::string(file_name) + source_of(config, family, arithmetic, document);
  document.json["layers"] = std::move(document.layers);
  return network_from_json(document.json.dump(), file_name);
}

std::string unpriced_parts(const Network& network) {
  const std::size_t at = network.source.find(kUnpricedTitle);
  if (at == std::string::npos) return {};
  const std::string rest = network.source.substr(at + kUnpricedTitle.size());
  return rest.substr(0, rest.find(kUnreadTitle));
}

std::string unread_keys(const Network& network) {
  const std::size_t at = network.source.find(kUnreadTitle);
  return at == std::string::npos ? std::string() : network.source.substr(at + kUnreadTitle.size());
}

}  // namespace plumb
