#include "models/launches/torchtitan_network.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/launches/megatron_network.hpp"

namespace plumb {
namespace {

struct Flavor {
  std::string_view model;
  std::string_view flavor;
  std::string_view shape;  ///< in the names of Megatron-LM
};

constexpr std::string_view kLlamaRest =
    "group_query_attention num_query_groups=8 vocab_size=128256 rotary_base=500000 "
    "untie_embeddings_and_output_weights";
constexpr std::string_view kQwenRest = "kv_channels=128 qk_layernorm vocab_size=151936 rotary_base=1000000";
constexpr std::string_view kDeepSeekRest =
    "multi_latent_attention qk_head_dim=128 qk_pos_emb_head_dim=64 v_head_dim=128 kv_lora_rank=512 "
    "untie_embeddings_and_output_weights";

/// What torchtitan calls a model and its size, with the sizes that its tables `model_args` say.
constexpr std::array kFlavors{
    Flavor{"llama3", "debugmodel",
           "num_layers=6 hidden_size=256 num_attention_heads=16 ffn_hidden_size=768 vocab_size=2048 "
           "untie_embeddings_and_output_weights"},
    Flavor{"llama3", "8B", "num_layers=32 hidden_size=4096 num_attention_heads=32 ffn_hidden_size=14336"},
    Flavor{"llama3", "70B", "num_layers=80 hidden_size=8192 num_attention_heads=64 ffn_hidden_size=28672"},
    Flavor{"llama3", "405B", "num_layers=126 hidden_size=16384 num_attention_heads=128 ffn_hidden_size=53248"},
    Flavor{"qwen3", "0.6B",
           "num_layers=28 hidden_size=1024 num_attention_heads=16 num_query_groups=8 ffn_hidden_size=3072"},
    Flavor{"qwen3", "1.7B",
           "num_layers=28 hidden_size=2048 num_attention_heads=16 num_query_groups=8 ffn_hidden_size=6144"},
    Flavor{"qwen3", "4B",
           "num_layers=36 hidden_size=2560 num_attention_heads=32 num_query_groups=8 ffn_hidden_size=9728"},
    Flavor{"qwen3", "8B",
           "num_layers=36 hidden_size=4096 num_attention_heads=32 num_query_groups=8 ffn_hidden_size=12288 "
           "untie_embeddings_and_output_weights"},
    Flavor{"qwen3", "14B",
           "num_layers=40 hidden_size=5120 num_attention_heads=40 num_query_groups=8 ffn_hidden_size=17408 "
           "untie_embeddings_and_output_weights"},
    Flavor{"qwen3", "32B",
           "num_layers=64 hidden_size=5120 num_attention_heads=64 num_query_groups=8 ffn_hidden_size=25600 "
           "untie_embeddings_and_output_weights"},
    Flavor{"qwen3", "30B-A3B",
           "num_layers=48 hidden_size=2048 num_attention_heads=32 num_query_groups=4 num_experts=128 moe_router_topk=8 "
           "moe_ffn_hidden_size=768 untie_embeddings_and_output_weights"},
    Flavor{"qwen3", "235B-A22B",
           "num_layers=94 hidden_size=4096 num_attention_heads=64 num_query_groups=4 num_experts=128 moe_router_topk=8 "
           "moe_ffn_hidden_size=1536 untie_embeddings_and_output_weights"},
    Flavor{"deepseek_v3", "16B",
           "num_layers=27 hidden_size=2048 num_attention_heads=16 ffn_hidden_size=10944 num_experts=64 "
           "moe_router_topk=6 moe_ffn_hidden_size=1408 moe_shared_expert_intermediate_size=2816 "
           "moe_layer_freq=[0]*1+[1]*26 vocab_size=102400"},
    Flavor{"deepseek_v3", "236B",
           "num_layers=60 hidden_size=5120 num_attention_heads=128 q_lora_rank=1536 ffn_hidden_size=12288 "
           "num_experts=160 moe_router_topk=6 moe_ffn_hidden_size=1536 moe_shared_expert_intermediate_size=3072 "
           "moe_layer_freq=[0]*1+[1]*59 vocab_size=102400"},
    Flavor{"deepseek_v3", "671B",
           "num_layers=61 hidden_size=7168 num_attention_heads=128 q_lora_rank=1536 ffn_hidden_size=18432 "
           "num_experts=256 moe_router_topk=8 moe_ffn_hidden_size=2048 moe_shared_expert_intermediate_size=2048 "
           "moe_layer_freq=[0]*3+[1]*58 vocab_size=129280"},
};

void add_shape(std::string_view shape, const std::string& place, Settings& network) {
  while (!shape.empty()) {
    const std::string_view word = shape.substr(0, shape.find(' '));
    shape.remove_prefix(std::min(word.size() + 1, shape.size()));
    const std::size_t equals = word.find('=');
    Setting setting{{}, place};
    if (equals != std::string_view::npos) setting.values.emplace_back(word.substr(equals + 1));
    if (!network.all().contains(word.substr(0, equals))) network.set(word.substr(0, equals), std::move(setting));
  }
}

Network network_of_flavor(const Flavor& flavor, const std::string& source, std::int64_t sequence, LaunchJob job) {
  Settings network(source);
  add_shape(flavor.shape, source, network);
  add_shape(flavor.model == "llama3"  ? kLlamaRest
            : flavor.model == "qwen3" ? kQwenRest
                                      : kDeepSeekRest,
            source, network);
  add_shape(
      "swiglu normalization=RMSNorm position_embedding_type=rope disable_bias add_bias_linear=false "
      "make_vocab_size_divisible_by=1",
      source, network);
  network.set("seq_length", {{std::to_string(sequence)}, source});
  if (flavor.flavor == "debugmodel") network.set("num_query_groups", {{"16"}, source});
  job.parallelism.tensor = 1;  // tables are not padded
  return megatron_network(network, job);
}

/// What counts for time and memory.
std::vector<LayerSpec> without_names(std::vector<LayerSpec> layers) {
  for (LayerSpec& layer : layers) {
    layer.name.clear();
    layer.costs_only.clear();
    layer.epsilon = LayerSpec{}.epsilon;
    layer.turns = {};
    layer.positions = layer.rotary ? 0 : layer.positions;
    layer.body = without_names(std::move(layer.body));
    layer.shortcut = without_names(std::move(layer.shortcut));
  }
  return layers;
}

}  // namespace

std::optional<Network> titan_network(const Settings& settings, const LaunchJob& job) {
  const std::string model = settings.text("model.name", "");
  const std::string flavor = settings.text("model.flavor", "");
  for (const Flavor& one : kFlavors) {
    const bool variant = flavor.starts_with(std::string(one.flavor) + "_");  // another kernel of attention
    if (one.model != model || (one.flavor != flavor && !variant)) continue;
    return network_of_flavor(one, settings.source(), settings.whole("training.seq_len", 2048), job);
  }
  return std::nullopt;
}

std::optional<TitanModel> titan_model_of(const Network& network) {
  const std::vector<LayerSpec> layers = without_names(network.layers);
  for (const Flavor& one : kFlavors) {
    const Network theirs = network_of_flavor(one, "torchtitan", network.sequence, {});
    if (without_names(theirs.layers) == layers) return TitanModel{std::string(one.model), std::string(one.flavor)};
  }
  return std::nullopt;
}

}  // namespace plumb
