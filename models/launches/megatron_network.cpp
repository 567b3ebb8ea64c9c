#include "models/launches/megatron_network.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/network/network_check.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostDecoders = 4096;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 30;
constexpr double kLeastRotaryFactor = 1e-6;  ///< smallest factor of rotary positions
constexpr double kMostRotaryFactor = 1e12;

/// Sizes are bounded, so that products of them can be counted.
std::int64_t size_of(const Settings& settings, std::string_view name, std::int64_t otherwise, std::int64_t least = 1) {
  const std::int64_t size = settings.whole(name, otherwise, least);
  if (size > kLargestSize) settings.fail(name, "expected at most " + std::to_string(kLargestSize));
  return size;
}

struct KnownVocabulary {
  std::string_view in_name;  ///< part of the name or path of the tokenizer, in lower case
  std::int64_t size = 0;
};

/// Published vocabularies; the first that fits counts.
constexpr std::array kKnownVocabularies{
    KnownVocabulary{"20b-tokenizer", 50277},  // GPT-NeoX
    KnownVocabulary{"charleveltokenizer", 512},
    KnownVocabulary{"codellama", 32016},
    KnownVocabulary{"llemma", 32016},
    KnownVocabulary{"nemotron-3", 131072},
    KnownVocabulary{"nemotron-h", 131072},
    KnownVocabulary{"gpt2bpe", 50257},
    KnownVocabulary{"llama-3", 128256},
    KnownVocabulary{"llama3", 128256},
    KnownVocabulary{"llama-4", 202048},
    KnownVocabulary{"llama-2", 32000},
    KnownVocabulary{"llama2", 32000},
    KnownVocabulary{"mixtral", 32000},
    KnownVocabulary{"qwen3", 151936},
    KnownVocabulary{"qwen2", 151936},
    KnownVocabulary{"deepseek-v3", 129280},
    KnownVocabulary{"deepseek-r1", 129280},
    KnownVocabulary{"deepseek-v2", 102400},
    KnownVocabulary{"deepseek-coder-v2", 102400},
    KnownVocabulary{"deepseekv2", 102400},
    KnownVocabulary{"deepseekv3", 129280},
    KnownVocabulary{"kimi-k2", 163840},
    KnownVocabulary{"moonlight", 163840},
    KnownVocabulary{"gpt-oss", 201088},
    KnownVocabulary{"mistral-7b", 32000},
    KnownVocabulary{"glm-5", 154880},
    KnownVocabulary{"glm5", 154880},
    KnownVocabulary{"glm-4", 151552},
    KnownVocabulary{"glm4", 151552},
    KnownVocabulary{"lfm2", 65536},
    KnownVocabulary{"minimax-m2", 200064},
    KnownVocabulary{"gemma", 256000},
    KnownVocabulary{"bertwordpiece", 30522},
    KnownVocabulary{"gpt-neox", 50277},
    KnownVocabulary{"nemotron", 256000},
    KnownVocabulary{"llama", 32000},
    KnownVocabulary{"t5-small", 32100},
    KnownVocabulary{"mt5-", 250100},
    KnownVocabulary{"gpt2", 50257},
    KnownVocabulary{"mistral", 32000},
    KnownVocabulary{"hftokenizer", 50277},    // GPT-NeoX, whose own file it reads
    KnownVocabulary{"tiktokenizer", 131072},  // Megatron-LM's default: DEFAULT_TIKTOKEN_MAX_VOCAB
};

std::string tokenizer_text(const Settings& settings) {
  std::string text;
  for (const char* name : {"tokenizer_type", "tokenizer_model", "tokenizer_name_or_path", "tokenizer_hf_model_id",
                           "load", "pretrained_checkpoint", "vocab_file", "model_name", "name"}) {
    const Setting* setting = settings.find(name);
    if (setting == nullptr) continue;
    for (const std::string& value : setting->values) text += " " + setting_name(value);
  }
  text += " " + setting_name(settings.source());
  std::ranges::replace(text, '_', '-');
  return text;
}

/// Returns the rows of the table before it is padded.
std::int64_t plain_vocabulary(const Settings& settings, LaunchJob& job) {
  if (settings.has("vocab_size")) return size_of(settings, "vocab_size", 0);
  const std::string text = tokenizer_text(settings);
  for (const KnownVocabulary& known : kKnownVocabularies) {
    if (text.find(known.in_name) == std::string::npos) continue;
    job.note(LaunchNote::kAssumed,
             "a vocabulary of " + std::to_string(known.size) + ", that of " + std::string(known.in_name));
    return known.size;
  }
  if (settings.has("merge_file") || text.find("gpt2-vocab") != std::string::npos) {
    job.note(LaunchNote::kAssumed, "a vocabulary of 50257, that of GPT-2's merges");
    return 50257;
  }
  throw Error(settings.source() +
              ": the size of the vocabulary is missing, expected vocab_size (--job-set vocab_size=N)");
}

std::int64_t padded_vocabulary(const Settings& settings, LaunchJob& job) {
  if (settings.has("padded_vocab_size")) return size_of(settings, "padded_vocab_size", 0);
  if (settings.has("pad_vocab_size_to")) return size_of(settings, "pad_vocab_size_to", 0);  // Megatron-DeepSpeed
  const std::int64_t plain = plain_vocabulary(settings, job);
  const std::int64_t unit = size_of(settings, "make_vocab_size_divisible_by", 128) * job.parallelism.tensor;
  if (settings.has("should_pad_vocab") && !settings.flag("should_pad_vocab")) return plain;
  return (plain + unit - 1) / unit * unit;
}

/// The kinds of layers of a network, made once.
class MegatronLayers {
 public:
  explicit MegatronLayers(const Settings& settings) : settings_(settings) {
    width_ = size_of(settings, "hidden_size", 0);
    if (width_ == 0) settings.required("hidden_size", "the width of the network");
    gated_ = settings.flag("swiglu") || setting_name(settings.text("mlp_type", "")) == "llama" ||
             settings.flag("geglu") || settings.flag("reglu") || settings.flag("quick_geglu") || is_gated_activation();
    bias_ = settings.flag("add_bias_linear",
                          !settings.has("use_bias_in_attn_linear") || settings.flag("use_bias_in_attn_linear"));
    const std::string norm = setting_name(settings.text("normalization", "LayerNorm"));
    if (norm != "layernorm" && norm != "rmsnorm" && norm != "layernorm1p") {
      settings.fail("normalization", "expected LayerNorm or RMSNorm, found '" + norm + "'");
    }
    rms_ = norm == "rmsnorm";
  }

  LayerSpec norm() const {
    LayerSpec layer;
    layer.kind = rms_ ? LayerKind::kRmsNorm : LayerKind::kLayerNorm;
    layer.width = width_;
    return layer;
  }

  LayerSpec attention(std::int64_t at) const {
    LayerSpec layer;
    layer.width = width_;
    layer.heads = settings_.required("num_attention_heads", "the number of attention heads");
    if (settings_.flag("multi_latent_attention")) return latent(std::move(layer));
    layer.kind = LayerKind::kAttention;
    const std::int64_t groups = size_of(settings_, "num_query_groups", 0, 0);
    const bool grouped = groups > 0 && settings_.flag("group_query_attention", true);
    layer.kv_heads = grouped && groups != layer.heads ? groups : 0;
    const std::int64_t head = size_of(settings_, "kv_channels", size_of(settings_, "head_dim", 0, 0), 0);
    if (head > 0 && head * layer.heads != width_) layer.head_width = head;
    layer.rotary = is_rotary();
    if (layer.rotary) layer.turns = turns();
    layer.bias = bias_;
    layer.qkv_bias = !bias_ && settings_.flag("add_qkv_bias");
    layer.head_norm = settings_.flag("qk_layernorm");
    layer.window = window(at);
    return layer;
  }

  LayerSpec mlp() const {
    LayerSpec layer;
    layer.kind = LayerKind::kMlp;
    layer.width = width_;
    layer.hidden = ffn();
    layer.gated = gated_;
    layer.bias = bias_;
    if (settings_.flag("squared_relu")) layer.activation = Activation::kRelu;
    return layer;
  }

  LayerSpec experts() const {
    LayerSpec layer = mlp();
    layer.kind = LayerKind::kMoe;
    layer.bias = false;
    layer.hidden = size_of(settings_, "moe_ffn_hidden_size", ffn());
    layer.experts = expert_count();
    layer.experts_per_token = size_of(settings_, "moe_router_topk", 2);
    layer.latent_width = size_of(settings_, "moe_latent_size", 0, 0);
    const std::int64_t shared = size_of(settings_, "moe_shared_expert_intermediate_size", 0, 0);
    // The shared expert counts in widths of a routed one, rounded up.
    layer.shared_experts = (shared + layer.hidden - 1) / layer.hidden;
    return layer;
  }

  LayerSpec mamba() const {
    LayerSpec layer;
    layer.kind = LayerKind::kMamba;
    layer.width = width_;
    layer.head_width = size_of(settings_, "mamba_head_dim", 64);
    layer.heads = size_of(settings_, "mamba_num_heads", std::max<std::int64_t>(1, 2 * width_ / layer.head_width));
    layer.state = size_of(settings_, "mamba_state_dim", 128);
    layer.groups = size_of(settings_, "mamba_num_groups", 8);
    layer.kernel = 4;
    return layer;
  }

  LayerSpec residual(LayerSpec body) const {
    LayerSpec layer;
    layer.kind = LayerKind::kResidual;
    layer.body = {norm(), std::move(body)};
    return layer;
  }

  std::int64_t width() const { return width_; }
  std::int64_t expert_count() const {
    std::int64_t most = 0;
    for (const std::string& word : settings_.list("num_experts")) {
      std::int64_t count = 0;
      for (const char letter : word)
        count = letter >= '0' && letter <= '9' && count < kLargestSize ? 10 * count + letter - '0' : count;
      most = std::max(most, count);
    }
    return most;
  }
  bool is_rotary() const {
    const std::string kind = setting_name(settings_.text("position_embedding_type", "learned_absolute"));
    return kind == "rope" || kind == "rotary" || kind == "mrope" || kind == "yarn";
  }
  /// A value that is not in the file changes neither time nor memory.
  double factor_or(std::string_view name, double otherwise) const {
    const Setting* setting = settings_.find(name);
    const bool open = setting == nullptr || setting->values.empty() || !unknown_in(setting->values.front()).empty();
    const double value = open ? otherwise : settings_.real(name, otherwise);
    if (!(value >= kLeastRotaryFactor && value <= kMostRotaryFactor))
      settings_.fail(name, "expected a number from 1e-6 to 1e12");
    return value;
  }
  /// `--use-rope-scaling` is that of Llama 3.1, whose other numbers Megatron-LM has as constants.
  RotaryTurns turns() const {
    RotaryTurns turns;
    turns.base = factor_or("rotary_base", turns.base);
    if (!settings_.flag("use_rope_scaling")) return turns;
    turns.factor = factor_or("rope_scaling_factor", 8);
    turns.original = 8192;
    return turns;
  }
  bool learns_positions() const {
    // "none" is a kind of positions; of other options it says that they are not given.
    const auto given = settings_.all().find("position_embedding_type");
    if (given != settings_.all().end() && given->second.values == std::vector<std::string>{"none"}) return false;
    const std::string kind = setting_name(settings_.text("position_embedding_type", "learned_absolute"));
    return (kind == "learned_absolute" || kind == "learned") && settings_.flag("add_position_embedding", true);
  }

 private:
  bool is_gated_activation() const {
    const std::string kind = setting_name(settings_.text("activation", ""));
    return kind.ends_with("glu") || kind.find("swiglu") != std::string::npos;
  }

  std::int64_t ffn() const {
    if (settings_.has("ffn_hidden_size")) return size_of(settings_, "ffn_hidden_size", 0);
    // swiglu alone: two thirds of the usual width, in steps of 64 (Megatron-LM's validate_args)
    return settings_.flag("swiglu") ? std::max<std::int64_t>(64, 8 * width_ / 3 / 64 * 64) : 4 * width_;
  }

  LayerSpec latent(LayerSpec layer) const {
    layer.kind = LayerKind::kLatentAttention;
    // Megatron-LM's MLASelfAttention looks at none of these; scripts keep them from what they were copied from.
    for (const char* name : {"group_query_attention", "num_query_groups", "kv_channels"}) settings_.note_read(name);
    layer.query_rank = size_of(settings_, "q_lora_rank", 0, 0);
    layer.key_rank = size_of(settings_, "kv_lora_rank", 32);
    layer.head_width = size_of(settings_, "qk_head_dim", 128);
    layer.rotary_width = size_of(settings_, "qk_pos_emb_head_dim", 64);
    layer.value_width = size_of(settings_, "v_head_dim", 128);
    return layer;
  }

  /// --window-size 128,0 with --window-attn-skip-freq 2: every second layer sees all tokens.
  std::int64_t window(std::int64_t at) const {
    if (!settings_.has("window_size")) return 0;
    const std::string text = settings_.text("window_size");
    std::int64_t size = 0;
    for (const char letter : text.substr(0, text.find(','))) {
      if (letter >= '0' && letter <= '9' && size < kLargestSize) size = 10 * size + letter - '0';
    }
    const std::string every = settings_.text("window_attn_skip_freq", "");
    if (every.size() == 1 && every[0] > '0' && every[0] <= '9' && (at + 1) % (every[0] - '0') == 0) return 0;
    return size == 0 ? 0 : size + 1;
  }

  const Settings& settings_;
  std::int64_t width_ = 0;
  bool gated_ = false;
  bool bias_ = true;
  bool rms_ = false;
};

/// Returns, by layer, whether it has experts: every n-th layer, or a list such as ([0]*3+[1]*58).
std::vector<bool> sparse_layers(const Settings& settings, std::int64_t layers, bool any) {
  constexpr std::string_view kName = "moe_layer_freq";
  std::vector<bool> sparse;
  std::string text;
  for (const std::string& word : settings.list(kName)) text += word + ",";
  while (text.ends_with(',')) text.pop_back();
  const bool one_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const std::int64_t every = settings.has(kName) && one_number ? settings.whole(kName, 1) : 1;
  if (!any || text.empty() || one_number) {
    for (std::int64_t k = 0; k < layers; ++k) sparse.push_back(any && k % every == 0);
    return sparse;
  }
  // [..]*n, joined by +; without brackets a plain list
  std::vector<bool> part;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '0' || letter == '1') part.push_back(letter == '1');
    if (letter == '*') {
      std::int64_t count = 0;
      while (at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9' && count <= kMostDecoders) {
        count = 10 * count + (text[++at] - '0');
      }
      if (count > kMostDecoders) settings.fail(kName, "expected at most " + std::to_string(kMostDecoders) + " layers");
      for (std::int64_t k = 0; k < count; ++k) sparse.insert(sparse.end(), part.begin(), part.end());
      part.clear();
    }
    if (letter == '+' || at + 1 == text.size()) {
      sparse.insert(sparse.end(), part.begin(), part.end());
      part.clear();
    }
    if (sparse.size() > static_cast<std::size_t>(kMostDecoders)) break;
  }
  if (sparse.size() != static_cast<std::size_t>(layers)) {
    settings.fail(kName, "expected " + std::to_string(layers) + " layers, found " + std::to_string(sparse.size()));
  }
  return sparse;
}

/// Returns the letters of a pattern of layers, without the marks of stages and the part for further tokens.
std::string pattern_letters(const Settings& settings) {
  std::string text = settings.text("hybrid_layer_pattern", "");
  text = text.substr(0, text.find('/'));
  std::erase(text, '|');
  return text;
}

void add_pattern(const Settings& settings, const MegatronLayers& layers, Network& network) {
  for (const char letter : pattern_letters(settings)) {
    if (network.layers.size() > static_cast<std::size_t>(kMostDecoders)) break;
    switch (letter) {
      case 'M':
        network.layers.push_back(layers.residual(layers.mamba()));
        break;
      case '*':
        network.layers.push_back(layers.residual(layers.attention(0)));
        break;
      case '-':
        network.layers.push_back(layers.residual(layers.mlp()));
        break;
      case 'E':
        network.layers.push_back(layers.residual(layers.experts()));
        break;
      default:
        settings.fail("hybrid_layer_pattern", std::string("expected letters M, *, - and E, found '") + letter + "'");
    }
  }
}

std::int64_t layer_count(const Settings& settings) {
  const std::int64_t count = settings.required("num_layers", "the number of layers");
  if (count < 1 || count > kMostDecoders) settings.fail("num_layers", "expected 1 to " + std::to_string(kMostDecoders));
  return count;
}

void add_further_tokens(const Settings& settings, const MegatronLayers& layers, std::int64_t vocabulary,
                        Network& network) {
  const std::int64_t count = std::min<std::int64_t>(size_of(settings, "mtp_num_layers", 0, 0), kMostDecoders);
  for (std::int64_t k = 0; k < count; ++k) {
    network.layers.push_back(layers.residual(layers.attention(0)));
    network.layers.push_back(layers.residual(layers.expert_count() > 1 ? layers.experts() : layers.mlp()));
    LayerSpec token;
    token.kind = LayerKind::kFurtherToken;
    token.width = layers.width();
    token.vocabulary = vocabulary;
    network.layers.push_back(std::move(token));
  }
}

/// Layers with the same name are told apart.
void name_layers(Network& network) {
  std::size_t count = 0;
  for (LayerSpec& layer : network.layers) {
    layer.name = "layer" + std::to_string(count);
    std::size_t inner = 0;
    for (LayerSpec& part : layer.body) part.name = layer.name + "." + std::to_string(inner++);
    ++count;
  }
}

}  // namespace

Network megatron_network(const Settings& settings, LaunchJob& job) {
  const MegatronLayers layers(settings);
  Network network;
  network.name = std::filesystem::path(settings.source()).stem().string();
  network.source = settings.source();
  network.sequence = settings.required("seq_length", "the length of a sequence");
  if (network.sequence < 1 || network.sequence > kLargestSize) settings.fail("seq_length", "expected a length");
  network.samples = job.parallelism.microbatch_size;
  const std::int64_t vocabulary = padded_vocabulary(settings, job);
  LayerSpec embedding;
  embedding.kind = LayerKind::kEmbedding;
  embedding.width = layers.width();
  embedding.vocabulary = vocabulary;
  if (layers.learns_positions()) {
    embedding.positions = size_of(settings, "max_position_embeddings", network.sequence);
  }
  network.layers.push_back(std::move(embedding));
  if (settings.flag("embed_layernorm")) network.layers.push_back(layers.norm());  // Megatron-DeepSpeed
  if (settings.has("hybrid_layer_pattern")) {
    add_pattern(settings, layers, network);
  } else {
    const std::int64_t count = layer_count(settings);
    const std::vector<bool> sparse = sparse_layers(settings, count, layers.expert_count() > 1);
    for (std::int64_t k = 0; k < count; ++k) {
      network.layers.push_back(layers.residual(layers.attention(k)));
      network.layers.push_back(layers.residual(sparse[static_cast<std::size_t>(k)] ? layers.experts() : layers.mlp()));
    }
  }
  add_further_tokens(settings, layers, vocabulary, network);
  network.layers.push_back(layers.norm());
  LayerSpec head;
  head.kind = LayerKind::kHead;
  head.width = layers.width();
  head.vocabulary = vocabulary;
  head.tied = !settings.flag("untie_embeddings_and_output_weights");
  network.layers.push_back(std::move(head));
  name_layers(network);
  check_network(network);
  return network;
}

PipelineUnits megatron_units(const Network& network, const Settings& settings) {
  const std::size_t each = settings.has("hybrid_layer_pattern") ? 1 : 2;
  const auto tokens = static_cast<std::size_t>(std::max<std::int64_t>(0, settings.whole("mtp_num_layers", 0, 0)));
  PipelineUnits units;
  if (settings.flag("embed_layernorm")) ++units.before;
  units.units.assign((network.layers.size() - units.before - 2 - 3 * tokens) / each, each);
  // Without a layout further tokens are predicted where the head is.
  if (settings.has("pipeline_model_parallel_layout")) {
    units.units.insert(units.units.end(), tokens, 3);
  } else {
    units.behind += 3 * tokens;
  }
  return units;
}

}  // namespace plumb
