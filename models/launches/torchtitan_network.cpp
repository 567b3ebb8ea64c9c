#include "models/launches/torchtitan_network.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
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

/// Facts of torchtitan's config_registry.py (July 2026): tokens of a microbatch of one data rank, tokens of a sample,
/// what is computed again.
struct TitanConfiguration {
  std::string_view module;
  std::string_view name;
  std::string_view flavor;
  std::string_view microbatch_tokens;
  std::string_view sequence;
  std::string_view recompute;
  std::string_view rest = {};  ///< name=value of other settings
};

constexpr std::string_view kLoops = "parallelism.pipeline_parallel_schedule=Interleaved1F1B";

constexpr std::array kConfigurations{
    TitanConfiguration{"llama3", "llama3_debugmodel", "debugmodel", "16384", "2048", "selective", kLoops},
    TitanConfiguration{"llama3", "llama3_8b", "8B", "8192", "8192", "selective"},
    TitanConfiguration{"llama3", "llama3_8b_mxfp8", "8B", "8192", "8192", "selective", "model.converters=mx"},
    TitanConfiguration{"llama3", "llama3_70b", "70B", "65536", "8192", "full", "parallelism.tensor_parallel_degree=8"},
    TitanConfiguration{"llama3", "llama3_405b", "405B", "16384", "8192", "full",
                       "parallelism.tensor_parallel_degree=8 model.converters=float8"},
    TitanConfiguration{"qwen3", "qwen3_0_6b", "0.6B", "16384", "4096", "selective"},
    TitanConfiguration{"qwen3", "qwen3_1_7b", "1.7B", "16384", "4096", "selective"},
    TitanConfiguration{"qwen3", "sft_qwen3_8b_math", "8B", "2048", "2048", "selective"},
    TitanConfiguration{"qwen3", "qwen3_14b", "14B", "16384", "4096", "full"},
    TitanConfiguration{"qwen3", "qwen3_32b", "32B", "8192", "4096", "full"},
    TitanConfiguration{"qwen3", "qwen3_30b_a3b", "30B-A3B", "8192", "4096", "full"},
    TitanConfiguration{"deepseek_v3", "deepseek_v3_16b", "16B", "16384", "4096", "selective",
                       "parallelism.pipeline_parallel_schedule=Interleaved1F1B parallelism.expert_parallel_degree=8"},
    TitanConfiguration{"deepseek_v3", "deepseek_v3_671b", "671B", "16384", "4096", "selective",
                       "parallelism.pipeline_parallel_schedule=Interleaved1F1B parallelism.expert_parallel_degree=2"},
    TitanConfiguration{"gpt_oss", "gpt_oss_20b", "20b", "8192", "8192", "full"},
    TitanConfiguration{"gpt_oss", "gpt_oss_120b", "120b", "8192", "8192", "full"},
};

/// Settings that a job is read from.
constexpr std::array<std::string_view, 44> kTitanSettings{"model.name",
                                                          "model.flavor",
                                                          "model.converters",
                                                          "training.seq_len",
                                                          "training.max_context_length",
                                                          "training.num_tokens_per_microbatch_per_dp_rank",
                                                          "training.local_batch_size",
                                                          "training.batch_size",
                                                          "training.global_batch_size",
                                                          "training.compile",
                                                          "training.ac_mode",
                                                          "training.tensor_parallel_degree",
                                                          "training.pipeline_parallel_degree",
                                                          "training.data_parallel_degree",
                                                          "training.data_parallel_shard_degree",
                                                          "training.data_parallel_replicate_degree",
                                                          "parallelism.tensor_parallel_degree",
                                                          "parallelism.context_parallel_degree",
                                                          "parallelism.expert_parallel_degree",
                                                          "parallelism.expert_tensor_parallel_degree",
                                                          "parallelism.pipeline_parallel_degree",
                                                          "parallelism.data_parallel_shard_degree",
                                                          "parallelism.data_parallel_replicate_degree",
                                                          "parallelism.enable_async_tensor_parallel",
                                                          "parallelism.fsdp_reshard_after_forward",
                                                          "parallelism.pipeline_parallel_schedule",
                                                          "parallelism.pipeline_parallel_schedule_csv",
                                                          "parallelism.pipeline_parallel_layers_per_stage",
                                                          "parallelism.pipeline_parallel_first_stage_less_layers",
                                                          "parallelism.pipeline_parallel_last_stage_less_layers",
                                                          "parallelism.pipeline_parallel_microbatch_size",
                                                          "parallelism.num_pp_microbatches",
                                                          "parallelism.module_fqns_per_model_part",
                                                          "experimental.pipeline_parallel_microbatches",
                                                          "experimental.pipeline_parallel_degree",
                                                          "experimental.pipeline_parallel_schedule",
                                                          "experimental.context_parallel_degree",
                                                          "experimental.enable_async_tensor_parallel",
                                                          "activation_checkpoint.mode",
                                                          "activation_checkpoint.selective_ac_option",
                                                          "float8.enable_float8_linear",
                                                          "compile.enable",
                                                          "optimizer.name",
                                                          "optimizer.momentum"};

/// Sections, and settings of other sections, without effect on time and memory.
constexpr std::array<std::string_view, 48> kTitanHarmless{"local_rank",
                                                          "extends",
                                                          "training.mixed_precision_",
                                                          "job.",
                                                          "profiling.",
                                                          "profiler.",
                                                          "metrics.",
                                                          "optimizer.",
                                                          "lr_scheduler.",
                                                          "checkpoint.",
                                                          "validation.",
                                                          "validator.",
                                                          "comm.",
                                                          "debug.",
                                                          "dataloader.",
                                                          "tokenizer.",
                                                          "fault_tolerance.",
                                                          "memory_estimation.",
                                                          "compile.",
                                                          "activation_checkpoint.",
                                                          "quantize.",
                                                          "float8.",
                                                          "mx.",
                                                          "eval",
                                                          "model.",
                                                          "experimental.custom_",
                                                          "module",
                                                          "config",
                                                          "dump_folder",
                                                          "hf_assets_path",
                                                          "trainable",
                                                          "sink_level",
                                                          "file_sink_level",
                                                          "stderr_sink_level",
                                                          "training.dataset",
                                                          "training.mock_data",
                                                          "training.steps",
                                                          "training.max_norm",
                                                          "training.warmup",
                                                          "training.seed",
                                                          "training.deterministic",
                                                          "training.gc_",
                                                          "training.dtype",
                                                          "parallelism.disable_loss_parallel",
                                                          "parallelism.context_parallel_rotate_method",
                                                          "parallelism.context_parallel_load_balancer",
                                                          "parallelism.enable_compiled_autograd",
                                                          "parallelism.spmd_backend"};

std::string in_letters_of(std::string text) {
  std::erase_if(text, [](char letter) { return letter == '-' || letter == '.' || letter == '_'; });
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::int64_t titan_sequence(const Settings& settings) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
  const std::int64_t tokens = settings.whole("training.seq_len", settings.whole("training.max_context_length", 2048));
  if (tokens > kMostTokens) settings.fail("training.seq_len", "expected at most 2^30");
  return tokens;
}

std::optional<Network> titan_network(const Settings& settings, const LaunchJob& job) {
  const std::string model = settings.text("model.name", "");
  const std::string flavor = settings.text("model.flavor", "");
  for (const Flavor& one : kFlavors) {
    const bool variant = flavor.starts_with(std::string(one.flavor) + "_");  // another kernel of attention
    if (one.model != model || (one.flavor != flavor && !variant)) continue;
    return network_of_flavor(one, settings.source(), titan_sequence(settings), job);
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

void add_titan_configuration(const std::string& module, const std::string& config, const std::string& place,
                             Settings& settings) {
  const std::string called = in_letters_of(config);
  const auto known = std::ranges::find_if(kConfigurations, [&](const TitanConfiguration& one) {
    return one.module == module && in_letters_of(std::string(one.name)) == called;
  });
  if (known == kConfigurations.end()) {
    std::vector<std::string_view> names;
    for (const TitanConfiguration& one : kConfigurations) names.push_back(one.name);
    const std::string nearest = nearest_name(config, names);
    throw Error(place + ": config: torchtitan's configuration '" + config + "' of the module '" + module +
                "' is a program that is not known here" +
                (nearest.empty() ? ", expected one such as llama3_8b" : " (did you mean '" + nearest + "'?)"));
  }
  const std::string from = place + " (" + std::string(known->name) + ")";
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!settings.all().contains(name)) settings.set(name, {{std::string(value)}, from});
  };
  add("model.name", known->module);
  add("model.flavor", known->flavor);
  add("training.num_tokens_per_microbatch_per_dp_rank", known->microbatch_tokens);
  add("training.seq_len", known->sequence);
  add("activation_checkpoint.mode", known->recompute);
  if (known->recompute == "selective") add("activation_checkpoint.selective_ac_option", "op");
  for (std::string_view rest = known->rest; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    add(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
  }
}

std::string titan_setting_called(const std::string& name) {
  if (name.find('.') != std::string::npos) return name;
  for (const std::string_view known : kTitanSettings) {
    if (known.substr(known.find('.') + 1) == name && !known.starts_with("experimental.")) return std::string(known);
  }
  return name;
}

bool is_harmless_in_titan(const std::string& name) {
  return std::ranges::any_of(kTitanHarmless, [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace plumb
