#include "models/import/model_config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/import/config_arithmetic.hpp"
#include "models/import/config_reader.hpp"
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

/// A document of ours in the making.
struct Document {
  Json json{{"format", "plumbline-network"}, {"version", 1}};
  Json layers = Json::array();
  std::vector<std::string> left_out;

  void add_block(const Json& norm, const Json& attention, const Json& mlp) {
    layers.push_back({{"kind", "residual"}, {"body", Json::array({norm, attention})}});
    layers.push_back({{"kind", "residual"}, {"body", Json::array({norm, mlp})}});
  }
};

/// Returns a layer with the fields of its arithmetic.
Json with_fields(Json layer, const LayerFieldValues& fields) {
  for (const auto& [key, value] : fields) {
    std::visit([&, &name = key](const auto& one) { layer[name] = one; }, value);
  }
  return layer;
}

/// Names the rates of dropout, which our layers do not have.
void leave_out_dropout(const ConfigReader& config, const std::vector<std::pair<std::string_view, double>>& rates,
                       Document& document) {
  std::string text;
  for (const auto& [key, usual] : rates) {
    const double rate = config.real(key, usual);
    if (rate > 0) text += (text.empty() ? "" : ", ") + std::string(key) + " " + Json(rate).dump();
  }
  if (!text.empty()) document.left_out.push_back("dropout (" + text + ")");
}

void build_gpt2(const ConfigReader& config, ConfigArithmetic& arithmetic, Document& document) {
  const std::int64_t width = config.size("n_embd");
  const std::int64_t positions = config.size("n_positions", 1024);
  document.json["sequence"] = std::min(positions, kLongestSequenceTaken);
  document.json["width"] = width;
  document.json["vocabulary"] = config.size("vocab_size", 50257);
  document.layers.push_back({{"kind", "embedding"}, {"positions", positions}});
  const std::int64_t hidden = config.size("n_inner", 0);
  const std::int64_t layers = config.layers("n_layer");
  if (config.flag("add_cross_attention", false)) config.fail("add_cross_attention", "expected false");
  LayerFieldValues of_norm;
  arithmetic.add_epsilon(of_norm, "layer_norm_epsilon", 1e-5);
  const Json norm = with_fields({{"kind", "layer_norm"}}, of_norm);
  LayerFieldValues of_attention;
  if (!config.flag("scale_attn_weights", true)) arithmetic.refuse(of_attention, "scale_attn_weights", "true");
  if (config.flag("scale_attn_by_inverse_layer_idx", false)) {
    arithmetic.refuse(of_attention, "scale_attn_by_inverse_layer_idx", "false");
  }
  const Json attention = with_fields({{"kind", "attention"}, {"heads", config.size("n_head")}}, of_attention);
  LayerFieldValues of_mlp;
  arithmetic.add_activation(of_mlp, {"activation_function"}, "gelu_new");
  const Json mlp = with_fields({{"kind", "mlp"}, {"hidden", hidden > 0 ? hidden : 4 * width}}, of_mlp);
  for (std::int64_t k = 0; k < layers; ++k) document.add_block(norm, attention, mlp);
  document.layers.push_back(norm);
  document.layers.push_back({{"kind", "head"}, {"tied", config.flag("tie_word_embeddings", true)}});
  leave_out_dropout(config, {{"resid_pdrop", 0.1}, {"embd_pdrop", 0.1}, {"attn_pdrop", 0.1}}, document);
}

/// Families differ in what their classes take for granted where the file does not say it.
struct Family {
  std::string_view type;
  bool experts = false;       ///< some or all MLPs are routed
  bool latent = false;        ///< latent attention
  bool qkv_bias = false;      ///< biases of queries, keys and values alone
  bool head_norm = false;     ///< norms of every head's query and key
  bool tied = false;          ///< head and embedding share their weight
  std::int64_t head_dim = 0;  ///< 0: heads fill the width
  double epsilon = 1e-6;      ///< constant of norms
  double base = 10000;        ///< base of rotary positions
  ConfigArithmetic::Windows windows = ConfigArithmetic::Windows::kNone;
};

using Windows = ConfigArithmetic::Windows;

constexpr std::array kFamilies{
    Family{.type = "gpt2"},
    Family{.type = "llama"},
    Family{.type = "mistral", .windows = Windows::kAll},
    Family{.type = "gemma", .tied = true, .head_dim = 256},
    Family{.type = "qwen2", .qkv_bias = true, .windows = Windows::kOptional},
    Family{.type = "qwen3", .head_norm = true, .head_dim = 128, .windows = Windows::kOptional},
    Family{.type = "mixtral", .experts = true, .epsilon = 1e-5, .base = 1e6},
    Family{.type = "qwen2_moe", .experts = true, .qkv_bias = true, .windows = Windows::kOptional},
    Family{.type = "qwen3_moe", .experts = true, .head_norm = true, .windows = Windows::kOptional},
    Family{.type = "deepseek_v2", .experts = true, .latent = true},
    Family{.type = "deepseek_v3", .experts = true, .latent = true},
};

/// The width of a head is only said where it is not what fills the width.
Json plain_attention(const ConfigReader& config, const Family& family) {
  const std::int64_t heads = config.size("num_attention_heads");
  const std::int64_t width = config.size("hidden_size");
  const std::int64_t head = config.size("head_dim", family.head_dim);
  Json attention{{"kind", "attention"},
                 {"heads", heads},
                 {"kv_heads", config.size("num_key_value_heads", heads)},
                 {"rotary", true},
                 {"bias", config.flag("attention_bias", false)},
                 {"qkv_bias", family.qkv_bias},
                 {"head_norm", family.head_norm}};
  if (head > 0 && head * heads != width) attention["head_width"] = head;
  return attention;
}

Json latent_attention(const ConfigReader& config) {
  return {{"kind", "latent_attention"},
          {"heads", config.size("num_attention_heads")},
          {"query_rank", config.size("q_lora_rank", 0)},
          {"key_rank", config.size("kv_lora_rank")},
          {"head_width", config.size("qk_nope_head_dim")},
          {"rotary_width", config.size("qk_rope_head_dim")},
          {"value_width", config.size("v_head_dim")}};
}

struct Experts {
  std::int64_t count = 0;
  std::int64_t per_token = 0;
  std::int64_t hidden = 0;
  std::int64_t shared = 0;
};

Experts experts_of(const ConfigReader& config, const Family& family, Document& document) {
  if (family.type == "mixtral") {
    return {config.size("num_local_experts"), config.size("num_experts_per_tok"), config.size("intermediate_size"), 0};
  }
  const std::int64_t hidden = config.size("moe_intermediate_size");
  if (family.latent) {
    return {config.size("n_routed_experts"), config.size("num_experts_per_tok"), hidden,
            config.size("n_shared_experts", 0)};
  }
  const std::int64_t shared = config.size("shared_expert_intermediate_size", 0);
  if (shared % hidden != 0) {
    config.fail("shared_expert_intermediate_size", "expected a multiple of moe_intermediate_size");
  }
  if (shared > 0) document.left_out.push_back("the gate of the shared experts");
  return {config.size("num_experts"), config.size("num_experts_per_tok"), hidden, shared / hidden};
}

/// Returns whether layer k routes to experts.
bool is_sparse(const ConfigReader& config, const Family& family, std::int64_t k) {
  if (family.type == "mixtral") return true;
  if (family.latent) {
    return k >= config.size("first_k_dense_replace", 0) &&
           k % std::max<std::int64_t>(1, config.size("moe_layer_freq", 1)) == 0;
  }
  const std::vector<std::int64_t> dense = config.list("mlp_only_layers");
  const std::int64_t step = std::max<std::int64_t>(1, config.size("decoder_sparse_step", 1));
  return std::find(dense.begin(), dense.end(), k) == dense.end() && (k + 1) % step == 0;
}

/// Gemma adds 1 to the weights of norms and scales the rows of the embedding.
void refuse_gemma(const Family& family, Json& layer) {
  if (family.type != "gemma") return;
  layer["costs_only"] = layer["kind"] == "embedding" ? "model_type gemma: rows are scaled by sqrt(hidden_size)"
                                                     : "model_type gemma: norms scale by 1 + weight";
}

Json routed_mlp(const ConfigReader& config, const Family& family, Document& document) {
  const Experts found = experts_of(config, family, document);
  return {{"kind", "moe"},
          {"hidden", found.hidden},
          {"experts", found.count},
          {"experts_per_token", found.per_token},
          {"shared_experts", found.shared},
          {"gated", true},
          {"bias", false}};
}

Json dense_mlp(const ConfigReader& config) {
  return {{"kind", "mlp"},
          {"hidden", config.size("intermediate_size")},
          {"gated", true},
          {"bias", config.flag("mlp_bias", false)}};
}

void build_blocks(const ConfigReader& config, const Family& family, ConfigArithmetic& arithmetic, const Json& norm,
                  Document& document) {
  const std::int64_t layers = config.layers("num_hidden_layers");
  const Json attention = family.latent ? latent_attention(config) : plain_attention(config, family);
  LayerFieldValues fields;
  if (!family.latent) {
    arithmetic.add_rotary(fields, family.base, config.size("max_position_embeddings", 2048));
    if (config.flag("use_bidirectional_attention", false)) {
      arithmetic.refuse(fields, "use_bidirectional_attention", "false");
    }
  }
  Json experts = family.experts ? routed_mlp(config, family, document) : Json();
  Json mlp;
  for (std::int64_t k = 0; k < layers; ++k) {
    LayerFieldValues own = fields;
    if (!family.latent) arithmetic.add_window(own, family.windows, k);
    const bool sparse = family.experts && is_sparse(config, family, k);
    if (!sparse && mlp.is_null()) mlp = dense_mlp(config);
    Json& chosen = sparse ? experts : mlp;
    if (!chosen.contains("activation") && !chosen.contains("costs_only")) {
      const bool gemma = family.type == "gemma";
      LayerFieldValues of_mlp;
      arithmetic.add_activation(of_mlp, {"hidden_activation", "hidden_act"}, gemma ? "gelu_pytorch_tanh" : "silu");
      chosen = with_fields(chosen, of_mlp);
    }
    document.add_block(norm, with_fields(attention, own), chosen);
  }
}

void build_llama_like(const ConfigReader& config, const Family& family, ConfigArithmetic& arithmetic,
                      Document& document) {
  document.json["sequence"] = std::min(config.size("max_position_embeddings", 2048), kLongestSequenceTaken);
  document.json["width"] = config.size("hidden_size");
  document.json["vocabulary"] = config.size("vocab_size");
  Json embedding{{"kind", "embedding"}};
  refuse_gemma(family, embedding);
  document.layers.push_back(embedding);
  LayerFieldValues of_norm;
  arithmetic.add_epsilon(of_norm, "rms_norm_eps", family.epsilon);
  Json norm = with_fields({{"kind", "rms_norm"}}, of_norm);
  refuse_gemma(family, norm);
  build_blocks(config, family, arithmetic, norm, document);
  document.layers.push_back(norm);
  document.layers.push_back({{"kind", "head"}, {"tied", config.flag("tie_word_embeddings", family.tied)}});
  leave_out_dropout(config, {{"attention_dropout", 0.0}}, document);
  if (config.size("num_nextn_predict_layers", 0) > 0)
    document.left_out.push_back("the layers that predict further tokens");
}

/// What `source` says before the keys that nobody read; they are the last that it says.
constexpr std::string_view kUnreadTitle = "; keys that are not known and not read: ";

/// Returns what was taken, what was left out, and keys that nobody knows.
std::string source_of(const ConfigReader& config, const Family& family, const ConfigArithmetic& arithmetic,
                      const Document& document) {
  std::string source = ", a Hugging Face configuration of type " + std::string(family.type);
  const auto append = [&](std::string_view title, const std::vector<std::string>& parts, std::string_view between) {
    for (std::size_t k = 0; k < parts.size(); ++k) source += std::string(k == 0 ? title : between) + parts[k];
  };
  append("; with ", arithmetic.taken(), ", ");
  append("; without ", document.left_out, " and ");
  // Routers and latent attention have keys of their own; their layers have costs only.
  if (!family.experts) append(kUnreadTitle, config.unread(harmless_keys()), ", ");
  return source;
}

const Family& family_of(const JsonValue& root) {
  const JsonValue type = root.at("model_type");
  std::vector<std::string_view> known;
  for (const Family& family : kFamilies) {
    if (family.type == type.text()) return family;
    known.push_back(family.type);
  }
  try {
    throw_unknown("model type", type.text(), known);
  } catch (const Error& error) {
    type.fail(error.what());
  }
}

}  // namespace

bool is_model_config(std::string_view text) {
  return text.find("\"model_type\"") != std::string_view::npos &&
         text.find("\"plumbline-network\"") == std::string_view::npos;
}

Network network_from_model_config(std::string_view text, std::string_view file_name) {
  const JsonDocument parsed{std::string(text), std::string(file_name)};
  JsonValue root = parsed.root();
  // Models of several kinds of data keep their language model inside.
  if (const auto inner = root.find("text_config")) root = *inner;
  const Family& family = family_of(root);
  Document document;
  const std::filesystem::path path{file_name};
  const bool plain = path.stem() == "config" && path.has_parent_path();
  document.json["name"] = plain ? path.parent_path().filename().string() : path.stem().string();
  const ConfigReader config(root);
  ConfigArithmetic arithmetic(config);
  if (family.type == "gpt2") {
    build_gpt2(config, arithmetic, document);
  } else {
    build_llama_like(config, family, arithmetic, document);
  }
  document.json["source"] = std::string(file_name) + source_of(config, family, arithmetic, document);
  document.json["layers"] = std::move(document.layers);
  return network_from_json(document.json.dump(), file_name);
}

std::string unread_keys(const Network& network) {
  const std::size_t at = network.source.find(kUnreadTitle);
  return at == std::string::npos ? std::string() : network.source.substr(at + kUnreadTitle.size());
}

}  // namespace plumb
