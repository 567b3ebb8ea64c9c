#include "models/launches/torchtitan_job.hpp"

#include <algorithm>
#include <array>
#include <utility>

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
    "group_query_attention num_query_groups=8 vocab_size=128256 "
    "untie_embeddings_and_output_weights";
constexpr std::string_view kQwenRest = "kv_channels=128 qk_layernorm vocab_size=151936";
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

/// The value of the first of `names` that is given: newer names come first.
std::string first_of(const Settings& settings, std::initializer_list<std::string_view> names) {
  std::string found;
  for (const std::string_view name : names) {
    if (settings.has(name) && found.empty()) found = name;
  }
  return found.empty() ? std::string(*names.begin()) : found;
}

std::int64_t ranks_of(const Settings& settings, std::initializer_list<std::string_view> names) {
  const std::string name = first_of(settings, names);
  const std::int64_t ranks = settings.whole(name, 1);
  if (ranks > 1 << 20) settings.fail(name, "expected at most 1048576");
  return ranks;
}

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

std::optional<Network> titan_network(const Settings& settings, LaunchJob& job) {
  const std::string model = settings.text("model.name", "");
  const std::string flavor = settings.text("model.flavor", "");
  for (const Flavor& one : kFlavors) {
    const bool variant = flavor.starts_with(std::string(one.flavor) + "_");  // another kernel of attention
    if (one.model != model || (one.flavor != flavor && !variant)) continue;
    Settings network(settings.source());
    add_shape(one.shape, settings.source(), network);
    add_shape(model == "llama3"  ? kLlamaRest
              : model == "qwen3" ? kQwenRest
                                 : kDeepSeekRest,
              settings.source(), network);
    add_shape(
        "swiglu normalization=RMSNorm position_embedding_type=rope disable_bias add_bias_linear=false "
        "make_vocab_size_divisible_by=1",
        settings.source(), network);
    network.set("seq_length", {{std::to_string(settings.whole("training.seq_len", 2048))}, settings.source()});
    if (one.flavor == "debugmodel") network.set("num_query_groups", {{"16"}, settings.source()});
    LaunchJob plain = job;
    plain.parallelism.tensor = 1;  // tables are not padded
    return megatron_network(network, plain);
  }
  return std::nullopt;
}

void set_titan_degrees(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  ranks.tensor = ranks_of(settings, {"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"});
  ranks.context = ranks_of(settings, {"parallelism.context_parallel_degree", "experimental.context_parallel_degree"});
  ranks.expert = ranks_of(settings, {"parallelism.expert_parallel_degree"});
  ranks.expert_tensor = ranks_of(settings, {"parallelism.expert_tensor_parallel_degree"});
  if (ranks.expert == 1 && ranks.tensor == 1) ranks.expert_tensor = 0;
  ranks.sequence_parallel = ranks.tensor > 1;
  ranks.data = 0;
  job.pipeline = ranks_of(settings, {"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree",
                                     "training.pipeline_parallel_degree"});
  ranks.overlap_products = settings.flag("parallelism.enable_async_tensor_parallel",
                                         settings.flag("experimental.enable_async_tensor_parallel")) &&
                           ranks.tensor > 1;
  ranks.overlap_gradients = true;
  ranks.zero = ZeroStage::kWeights;
  const std::string reshard = settings.text("parallelism.fsdp_reshard_after_forward", "default");
  // "default": weights stay gathered where a pipeline would gather them for every microbatch
  if (reshard == "never" || (reshard == "default" && job.pipeline > 1)) ranks.zero = ZeroStage::kGradients;
  const std::string shard =
      first_of(settings, {"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree",
                          "training.data_parallel_degree"});
  if (settings.whole(shard, -1, -1) == 1) ranks.zero = ZeroStage::kNone;
  if (ranks_of(settings, {"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree"}) >
      1) {
    job.note(LaunchNote::kNotModelled,
             "data_parallel_replicate_degree: weights are priced as sharded over all data ranks");
  }
}

/// Orders by PyTorch's names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTitanSchedules{
    {{"1f1b", "torch-1f1b"},
     {"gpipe", "torch-gpipe"},
     {"interleaved1f1b", "torch-interleaved"},
     {"loopedbfs", "torch-looped-bfs"},
     {"interleavedzerobubble", "torch-interleaved-zb"},
     {"zbvzerobubble", "torch-zbv"},
     {"dualpipev", "torch-dualpipev"},
     {"flexibleinterleaved1f1b", "torch-interleaved"}}};

void set_titan_schedule(const Settings& settings, LaunchJob& job) {
  const std::string name =
      first_of(settings, {"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"});
  const std::string schedule = setting_name(settings.text(name, "1F1B"));
  if (job.pipeline == 1) return;
  const auto known =
      std::ranges::find(kTitanSchedules, schedule, &std::pair<std::string_view, std::string_view>::first);
  if (known == kTitanSchedules.end()) settings.fail(name, "expected a schedule of PyTorch, found '" + schedule + "'");
  job.schedule = known->second;
  const bool several = schedule != "1f1b" && schedule != "gpipe";
  const std::int64_t each = settings.whole("parallelism.pipeline_parallel_layers_per_stage", 0, 0);
  job.chunks = several ? 2 : 1;
  if (each > 0 && job.network) {
    const auto layers = static_cast<std::int64_t>((job.network->layers.size() - 3) / 2);
    const std::int64_t stages = (layers + 2 + each - 1) / each;
    if (stages % job.pipeline != 0)
      settings.fail("parallelism.pipeline_parallel_layers_per_stage", "expected a number that makes a multiple of " +
                                                                          std::to_string(job.pipeline) +
                                                                          " stages, found " + std::to_string(stages));
    job.chunks = stages / job.pipeline;
  }
}

/// Embedding and head count as a layer each, and the first stages take what is left over.
void set_titan_partition(LaunchJob& job) {
  if (!job.network) return;
  PipelineUnits units;
  units.units.assign((job.network->layers.size() - 3) / 2, 2);
  const std::int64_t stages = job.pipeline * job.chunks;
  const auto all = static_cast<std::int64_t>(units.units.size()) + 2;
  if (stages > all) throw Error(job.source + ": more pipeline stages than layers, expected fewer");
  std::vector<std::int64_t> each;
  for (std::int64_t s = 0; s < stages; ++s) each.push_back(all / stages + (s < all % stages ? 1 : 0));
  each.front() -= 1;
  each.back() -= 1;
  job.partition = cut_at_units(units, each);
}

void set_titan_precision(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  for (const char* name : {"model.converters", "float8.enable_float8_linear"}) {
    for (const std::string& word : settings.list(name)) {
      if (word.find("mx") != std::string::npos) ranks.format = MatrixFormat::kMxFp8;
      if (word.find("float8") != std::string::npos || word == "true") ranks.format = MatrixFormat::kFp8Current;
    }
  }
  const std::string mode =
      settings.text(first_of(settings, {"activation_checkpoint.mode", "training.ac_mode"}), "selective");
  if (mode == "full") ranks.recompute = ActivationRecompute::kFull;
  if (mode == "selective") {
    const std::string option = settings.text("activation_checkpoint.selective_ac_option", "2");
    ranks.modules.add(RecomputeModule::kNorm);
    ranks.modules.add(RecomputeModule::kActivation);
    job.note(LaunchNote::kNotModelled,
             "selective_ac_option " + option + ": priced as norms and activations computed again");
  }
  if (settings.flag("compile.enable", settings.flag("training.compile"))) {
    job.note(LaunchNote::kNotModelled, "compile: fewer and longer kernels");
  }
}

void note_titan(const Settings& settings, LaunchJob& job) {
  static constexpr std::array<std::string_view, 18> kOther{"job.",
                                                           "profiling.",
                                                           "metrics.",
                                                           "optimizer.",
                                                           "lr_scheduler.",
                                                           "checkpoint.",
                                                           "validation.",
                                                           "comm.",
                                                           "debug.",
                                                           "fault_tolerance.",
                                                           "memory_estimation.",
                                                           "compile.",
                                                           "activation_checkpoint.",
                                                           "quantize.",
                                                           "float8.",
                                                           "mx.",
                                                           "eval",
                                                           "model."};
  static constexpr std::array<std::string_view, 6> kTraining{"training.dataset",  "training.steps",
                                                             "training.max_norm", "training.warmup",
                                                             "training.seed",     "training.deterministic"};
  for (const std::string& name : settings.unread()) {
    const auto begins = [&](std::string_view begin) { return name.starts_with(begin); };
    const bool harmless = std::ranges::any_of(kOther, begins) || std::ranges::any_of(kTraining, begins);
    job.note(harmless ? LaunchNote::kNoEffect : LaunchNote::kUnknown, name);
  }
}

}  // namespace

LaunchJob torchtitan_job(const Settings& settings) {
  const bool known = settings.has("model.name") || settings.has("model.flavor") || settings.has("training.seq_len");
  if (!known) throw Error(settings.source() + ": expected a configuration of torchtitan with [model] and [training]");
  LaunchJob job{.source = settings.source(), .runtime = "torchtitan"};
  set_titan_degrees(settings, job);
  const std::string local = first_of(settings, {"training.local_batch_size", "training.batch_size"});
  const std::int64_t samples = settings.whole(local, 8);
  // With a pipeline a batch is cut into microbatches (of one sample by default); without, it is one.
  job.parallelism.microbatch_size =
      job.pipeline > 1 ? settings.whole("parallelism.pipeline_parallel_microbatch_size", 1) : samples;
  const std::int64_t parts = settings.whole("experimental.pipeline_parallel_microbatches", 0, 0);
  if (parts > 0 && job.pipeline > 1) job.parallelism.microbatch_size = std::max<std::int64_t>(1, samples / parts);
  job.batch = std::max<std::int64_t>(0, settings.whole("training.global_batch_size", 0, -1));
  job.accumulation = samples / job.parallelism.microbatch_size;
  job.network = titan_network(settings, job);
  if (!job.network) {
    job.note(LaunchNote::kAssumed, "the network '" + settings.text("model.name", "") + " " +
                                       settings.text("model.flavor", "") + "' is not known here: --network says it");
  }
  set_titan_schedule(settings, job);
  set_titan_partition(job);
  set_titan_precision(settings, job);
  note_titan(settings, job);
  return job;
}

}  // namespace plumb
