#include "models/import/model_config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/network/network_io.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostSize = std::int64_t{1} << 24;
constexpr std::int64_t kMostConfigLayers = 1000;
constexpr std::int64_t kLongestSequenceTaken = 8192;

/// Typed access to a configuration whose keys may be missing or null.
class Config {
 public:
  explicit Config(const JsonValue& root) : root_(root) {}

  std::int64_t size(std::string_view key) const { return root_.at(key).integer(1, kMostSize); }
  std::int64_t layers(std::string_view key) const { return root_.at(key).integer(1, kMostConfigLayers); }

  std::int64_t size(std::string_view key, std::int64_t otherwise) const {
    const std::optional<JsonValue> value = given(key);
    return value ? value->integer(0, kMostSize) : otherwise;
  }

  bool flag(std::string_view key, bool otherwise) const {
    const std::optional<JsonValue> value = given(key);
    return value ? value->boolean() : otherwise;
  }

  std::vector<std::int64_t> list(std::string_view key) const {
    std::vector<std::int64_t> numbers;
    if (const std::optional<JsonValue> value = given(key)) {
      for (const JsonValue& one : value->elements()) numbers.push_back(one.integer());
    }
    return numbers;
  }

  [[noreturn]] void fail(std::string_view key, const std::string& message) const {
    if (const auto value = root_.find(key)) value->fail(message);
    root_.fail(message);
  }

 private:
  std::optional<JsonValue> given(std::string_view key) const {
    const auto value = root_.find(key);
    return value && value->kind() != JsonValue::Kind::kNull ? value : std::nullopt;
  }

  JsonValue root_;
};

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

void build_gpt2(const Config& config, Document& document) {
  const std::int64_t width = config.size("n_embd");
  const std::int64_t positions = config.size("n_positions", 1024);
  document.json["sequence"] = std::min(positions, kLongestSequenceTaken);
  document.json["width"] = width;
  document.json["vocabulary"] = config.size("vocab_size", 50257);
  document.layers.push_back({{"kind", "embedding"}, {"positions", positions}});
  const std::int64_t hidden = config.size("n_inner", 0);
  const std::int64_t layers = config.layers("n_layer");
  for (std::int64_t k = 0; k < layers; ++k) {
    document.add_block({{"kind", "layer_norm"}}, {{"kind", "attention"}, {"heads", config.size("n_head")}},
                       {{"kind", "mlp"}, {"hidden", hidden > 0 ? hidden : 4 * width}});
  }
  document.layers.push_back({{"kind", "layer_norm"}});
  document.layers.push_back({{"kind", "head"}, {"tied", config.flag("tie_word_embeddings", true)}});
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
};

constexpr std::array kFamilies{
    Family{.type = "gpt2"},
    Family{.type = "llama"},
    Family{.type = "mistral"},
    Family{.type = "gemma", .tied = true, .head_dim = 256},
    Family{.type = "qwen2", .qkv_bias = true},
    Family{.type = "qwen3", .head_norm = true, .head_dim = 128},
    Family{.type = "mixtral", .experts = true},
    Family{.type = "qwen2_moe", .experts = true, .qkv_bias = true},
    Family{.type = "qwen3_moe", .experts = true, .head_norm = true},
    Family{.type = "deepseek_v2", .experts = true, .latent = true},
    Family{.type = "deepseek_v3", .experts = true, .latent = true},
};

/// The width of a head is only said where it is not what fills the width.
Json plain_attention(const Config& config, const Family& family) {
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

Json latent_attention(const Config& config) {
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

Experts experts_of(const Config& config, const Family& family, Document& document) {
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

/// Whether layer k routes to experts.
bool is_sparse(const Config& config, const Family& family, std::int64_t k) {
  if (family.type == "mixtral") return true;
  if (family.latent) {
    return k >= config.size("first_k_dense_replace", 0) &&
           k % std::max<std::int64_t>(1, config.size("moe_layer_freq", 1)) == 0;
  }
  const std::vector<std::int64_t> dense = config.list("mlp_only_layers");
  const std::int64_t step = std::max<std::int64_t>(1, config.size("decoder_sparse_step", 1));
  return std::find(dense.begin(), dense.end(), k) == dense.end() && (k + 1) % step == 0;
}

void build_llama_like(const Config& config, const Family& family, Document& document) {
  document.json["sequence"] = std::min(config.size("max_position_embeddings", 2048), kLongestSequenceTaken);
  document.json["width"] = config.size("hidden_size");
  document.json["vocabulary"] = config.size("vocab_size");
  document.layers.push_back({{"kind", "embedding"}});
  const bool sparse = family.experts;
  const Json attention = family.latent ? latent_attention(config) : plain_attention(config, family);
  const Json norm{{"kind", "rms_norm"}};
  const std::int64_t layers = config.layers("num_hidden_layers");
  Json experts;
  if (sparse) {
    const Experts found = experts_of(config, family, document);
    experts = {{"kind", "moe"},
               {"hidden", found.hidden},
               {"experts", found.count},
               {"experts_per_token", found.per_token},
               {"shared_experts", found.shared},
               {"gated", true},
               {"bias", false}};
  }
  for (std::int64_t k = 0; k < layers; ++k) {
    if (sparse && is_sparse(config, family, k)) {
      document.add_block(norm, attention, experts);
    } else {
      document.add_block(norm, attention,
                         {{"kind", "mlp"},
                          {"hidden", config.size("intermediate_size")},
                          {"gated", true},
                          {"bias", config.flag("mlp_bias", false)}});
    }
  }
  if (config.size("sliding_window", 0) > 0 && config.flag("use_sliding_window", family.type == "mistral"))
    document.left_out.push_back("the sliding window of attention");
  document.layers.push_back(norm);
  document.layers.push_back({{"kind", "head"}, {"tied", config.flag("tie_word_embeddings", family.tied)}});
  if (config.size("num_nextn_predict_layers", 0) > 0)
    document.left_out.push_back("the layers that predict further tokens");
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
  if (family.type == "gpt2") {
    build_gpt2(Config(root), document);
  } else {
    build_llama_like(Config(root), family, document);
  }
  std::string source = std::string(file_name) + ", a Hugging Face configuration of type " + std::string(family.type);
  for (std::size_t k = 0; k < document.left_out.size(); ++k) {
    source += (k == 0 ? "; without " : " and ") + document.left_out[k];
  }
  document.json["source"] = source;
  document.json["layers"] = std::move(document.layers);
  return network_from_json(document.json.dump(), file_name);
}

}  // namespace plumb
