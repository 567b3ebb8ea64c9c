#include "models/launches/megatron_job.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "models/launches/deepspeed_job.hpp"
#include "models/launches/megatron_names.hpp"
#include "models/launches/megatron_network.hpp"
#include "models/launches/pipeline_layout.hpp"
#include "models/launches/read_machine.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;

/// Returns whether Megatron-DeepSpeed runs it.
bool runs_deepspeed(const Settings& settings) { return settings.has("deepspeed") || settings.has("deepspeed_config"); }

std::int64_t degree(const Settings& settings, std::string_view name) {
  // GPT-NeoX writes 0 for one rank.
  const std::int64_t ranks = std::max<std::int64_t>(1, settings.whole(name, 1, 0));
  if (ranks > kMostRanks) settings.fail(name, "expected at most " + std::to_string(kMostRanks));
  return ranks;
}

bool is_text(const Settings& settings, std::string_view name, std::initializer_list<std::string_view> values) {
  if (!settings.has(name)) return false;
  return std::ranges::find(values, setting_name(settings.text(name))) != values.end();
}

bool mentions(const Settings& settings, std::string_view name, std::string_view part) {
  const std::vector<std::string> words = settings.list(name);
  return std::ranges::any_of(words, [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

void set_degrees(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  ranks.tensor = degree(settings, "tensor_model_parallel_size");
  ranks.context = degree(settings, "context_parallel_size");
  const bool ulysses = is_text(settings, "context_parallel_algo", {"ulysses_cp_algo"});  // MindSpeed
  ranks.context_by_heads = (is_text(settings, "cp_comm_type", {"a2a"}) || ulysses) && ranks.context > 1;
  ranks.expert = degree(settings, "expert_model_parallel_size");
  ranks.expert_tensor =
      settings.has("expert_tensor_parallel_size") ? degree(settings, "expert_tensor_parallel_size") : 0;
  ranks.data = 0;
  ranks.sequence_parallel = settings.flag("sequence_parallel") && ranks.tensor > 1;
  ranks.microbatch_size = settings.whole("micro_batch_size", 1);
  job.pipeline = degree(settings, "pipeline_model_parallel_size");
  // Megatron-DeepSpeed keeps the degree of a pipeline that it is told not to use.
  if (settings.flag("no_pipeline_parallel")) job.pipeline = 1;
  job.batch = settings.whole("global_batch_size", 0, 0);
  job.accumulation = settings.whole("gradient_accumulation_steps", job.batch == 0 ? 1 : 0, 0);
  job.batch_assumed = job.batch == 0 && !settings.has("gradient_accumulation_steps");
  if (job.batch_assumed && settings.has("step_batch_size_schedule")) {
    settings.fail("step_batch_size_schedule",
                  "the batch changes with the steps, expected that of one step with --job-set global_batch_size=N");
  }
  if (std::max({ranks.microbatch_size, job.batch, job.accumulation}) > kMostRanks * kMostRanks / 1024) {
    settings.fail("global_batch_size", "expected fewer samples");
  }
}

/// Returns a scaling recipe by any of the names that the systems of this family give it.
MatrixFormat recipe_of(const Settings& settings) {
  const std::string recipe = setting_name(settings.text("fp8_recipe", "delayed"));
  if (recipe == "delayed") return MatrixFormat::kFp8;
  if (recipe == "tensorwise" || recipe == "custom") return MatrixFormat::kFp8Current;
  if (recipe == "blockwise") return MatrixFormat::kFp8Block;
  if (recipe == "mxfp8") return MatrixFormat::kMxFp8;
  settings.fail("fp8_recipe", "expected delayed, tensorwise, blockwise or mxfp8, found '" + recipe + "'");
}

/// NeMo's names of precisions: "bf16-mixed", "bf16_with_fp8_current_scaling_mixed", ...
void set_mixed_precision(const std::string& name, LaunchJob& job) {
  if (name.find("fp8") == std::string::npos && name.find("fp4") == std::string::npos) return;
  job.parallelism.format = name.find("fp4") != std::string::npos          ? MatrixFormat::kNvFp4
                           : name.find("mxfp8") != std::string::npos      ? MatrixFormat::kMxFp8
                           : name.find("subchannel") != std::string::npos ? MatrixFormat::kFp8Block
                           : name.find("current") != std::string::npos    ? MatrixFormat::kFp8Current
                                                                          : MatrixFormat::kFp8;
}

bool computes_in_16_bits(const Settings& settings) {
  const bool table = settings.flag("bf16.enabled") || settings.flag("fp16.enabled");
  const bool named = is_text(settings, "precision", {"bf16", "bf16_mixed", "16", "fp16", "bfloat16", "16_mixed"});
  return settings.flag("bf16") || settings.flag("fp16") || table || named || settings.has("mixed_precision");
}

void set_precision(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  if (!computes_in_16_bits(settings)) {
    ranks.precision = Precision{};
    const bool told = settings.has("precision") || settings.has("fp16.enabled") || settings.has("bf16.enabled");
    if (runs_deepspeed(settings) && !told) job.note(LaunchNote::kDecides, "32 bits: the file says no precision");
  }
  const bool half = settings.flag("fp16") || settings.flag("fp16.enabled");
  job.half = half || is_text(settings, "precision", {"16", "fp16", "16_mixed"});
  // Megatron-LM sets accumulate_allreduce_grads_in_fp32 itself in bf16, whatever is said.
  const bool asked = settings.flag("accumulate_allreduce_grads_in_fp32");
  const bool wide = asked || !half;
  const bool narrow = is_text(settings, "main_grads_reduced_in", {"bf16", "bfloat16", "16", "fp16", "torch.bfloat16"});
  if (ranks.precision == kMixedPrecision &&
      (settings.flag("grad_reduce_in_bf16") || settings.flag("ddp.grad_reduce_in_bf16") ||
       (settings.has("grad_reduce_in_fp32") && !settings.flag("grad_reduce_in_fp32")) || !wide || narrow)) {
    ranks.precision.gradient_bytes = 2;
  }
  if (settings.has("mixed_precision")) set_mixed_precision(setting_name(settings.text("mixed_precision")), job);
  if (settings.has("fp8_format") && !is_text(settings, "fp8_format", {"false", "none"}))
    ranks.format = recipe_of(settings);
  if (settings.has("fp4_format") && !is_text(settings, "fp4_format", {"false", "none"}))
    ranks.format = MatrixFormat::kNvFp4;
  if (!settings.flag("use_precision_aware_optimizer")) return;
  const auto bytes = [&](std::string_view name, std::int64_t otherwise) -> std::int64_t {
    const std::string type = settings.text(name, "");
    if (type.empty()) return otherwise;
    return type.find("8") != std::string::npos && type.find("fp8") != std::string::npos ? 1
           : type.find("16") != std::string::npos                                       ? 2
                                                                                        : 4;
  };
  ranks.precision.gradient_bytes = bytes("main_grads_dtype", ranks.precision.gradient_bytes);
  ranks.precision.optimizer_bytes =
      bytes("main_params_dtype", 4) + bytes("exp_avg_dtype", 4) + bytes("exp_avg_sq_dtype", 4);
}

void set_sharding(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  // NeMo's optimizers by name
  const bool named = is_text(settings, "optim.name", {"distributed_fused_adam", "mcore_distributed_optim"});
  if (named || settings.flag("use_distributed_optimizer") || settings.flag("optimizer.use_distributed_optimizer")) {
    ranks.zero = ZeroStage::kOptimizer;
  }
  const std::int64_t stage = settings.whole("zero_optimization.stage", settings.whole("zero_stage", 0, 0), 0);
  if (stage > 3) settings.fail("zero_stage", "expected 0 to 3");
  if (stage > 0) ranks.zero = static_cast<ZeroStage>(stage);
  if (settings.flag("use_megatron_fsdp") || settings.flag("use_custom_fsdp") || settings.flag("use_torch_fsdp2")) {
    const std::string what = setting_name(settings.text("data_parallel_sharding_strategy", "optim_grads_params"));
    ranks.zero = what == "no_shard"      ? ZeroStage::kNone
                 : what == "optim"       ? ZeroStage::kOptimizer
                 : what == "optim_grads" ? ZeroStage::kGradients
                                         : ZeroStage::kWeights;
  }
  ranks.overlap_gradients = settings.flag("overlap_grad_reduce") || settings.flag("zero_optimization.overlap_comm");
  ranks.overlap_parameters = settings.flag("overlap_param_gather");
  ranks.overlap_products =
      (settings.flag("tp_comm_overlap") || settings.flag("ub_tp_comm_overlap")) && ranks.sequence_parallel;
}

void set_megatron_optimizer(const Settings& settings, LaunchJob& job) {
  for (const char* name : {"optimizer", "optim.name", "optimizer.optimizer", "optimizer.type"}) {
    const Setting* setting = settings.find(name);
    if (setting == nullptr || setting->values.size() != 1 || !unknown_in(setting->values.front()).empty()) continue;
    set_optimizer(setting->values.front(), settings.real("sgd_momentum", 0.9), job);
    return;
  }
}

void set_experts(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  const std::string dispatcher = setting_name(settings.text("moe_token_dispatcher_type", "allgather"));
  const bool deepep =
      settings.flag("moe_enable_deepep") ||
      (dispatcher == "flex" && is_text(settings, "moe_flex_dispatcher_backend", {"deepep", "hybridep"}));
  if (deepep) ranks.dispatcher = Dispatcher::kOncePerNode;
  if (dispatcher == "allgather" && ranks.expert > 1) {
    job.note(LaunchNote::kNotModelled, "moe_token_dispatcher_type allgather: priced as alltoall");
  }
  const double capacity = settings.real("moe_expert_capacity_factor", 0);
  if (capacity > 0) ranks.expert_capacity = std::clamp(capacity, 1.0, 1000.0);
  ranks.overlap_experts = settings.flag("overlap_moe_expert_parallel_comm");
}

void set_memory(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  const bool flash = settings.flag("use_flash_attn") || mentions(settings, "attention_layers", "flash");
  // Megatron-DeepSpeed has kernels of its own, and fuses attention only when it is told.
  const std::string kernels = settings.text("transformer_impl", runs_deepspeed(settings) ? "local" : "");
  const bool local = setting_name(kernels) == "local" && !flash;
  ranks.flash_attention =
      !is_text(settings, "attention_backend", {"unfused", "local", "attnbackend.unfused"}) && !local;
  // Megatron's default is a dropout of 0.1.
  ranks.dropout = std::max(settings.real("attention_dropout", 0.1), settings.real("hidden_dropout", 0.1)) > 0;
  ranks.fused_loss =
      settings.flag("cross_entropy_loss_fusion") && is_text(settings, "cross_entropy_fusion_impl", {"te"});
  if (settings.flag("optimizer_cpu_offload")) offload_optimizer(job);
  settings.note_read("optimizer_offload_fraction");
  const bool captured = settings.has("cuda_graph_impl") && !is_text(settings, "cuda_graph_impl", {"none", "false"});
  if (!captured) return;
  const bool whole =
      !settings.has("cuda_graph_scope") || is_text(settings, "cuda_graph_scope", {"full_iteration", "full"});
  ranks.captured = whole ? CapturedGraphs::kAll : CapturedGraphs::kDense;
  if (!whole)
    job.note(LaunchNote::kAssumed,
             "captured graphs of all but the experts, not of the parts that cuda_graph_scope names");
}

/// Names of --recompute-modules, and what is priced for them.
constexpr std::array<std::pair<std::string_view, RecomputeModule>, 6> kRecomputed{
    {{"layernorm", RecomputeModule::kNorm},
     {"norm", RecomputeModule::kNorm},
     {"moe_act", RecomputeModule::kActivation},
     {"activation", RecomputeModule::kActivation},
     {"moe", RecomputeModule::kMoe},
     {"mla_up_proj", RecomputeModule::kMlaUpProj}}};

/// Only low-rank adapters are trained.
void set_adapters(const Settings& settings, LaunchJob& job) {
  bool adapters = false;
  for (const char* name : {"tuner_type", "train_type", "peft_scheme", "peft"}) {
    adapters = adapters || is_text(settings, name, {"lora", "qlora"});
  }
  if (!adapters) return;
  constexpr std::int64_t kMostAdapterRank = 1 << 16;
  job.parallelism.adapter_targets = LoraTargets::kAll;
  job.parallelism.adapter_rank =
      std::min(kMostAdapterRank, settings.whole("lora_rank", settings.whole("adapter_dim", 8)));
  job.note(LaunchNote::kAssumed, "adapters of rank " + std::to_string(job.parallelism.adapter_rank) +
                                     " on all products of attention and MLP");
}

void set_recompute_modules(const Settings& settings, LaunchJob& job) {
  job.parallelism.recompute =
      settings.has("recompute_modules") ? ActivationRecompute::kNone : ActivationRecompute::kSelective;
  for (const std::string& words : settings.list("recompute_modules")) {
    std::string word;
    for (const char letter : words + " ") {
      const bool in_word = letter == '_' || (letter >= 'a' && letter <= 'z');
      if (in_word) word += letter;
      if (in_word || word.empty()) continue;
      const auto known = std::ranges::find(kRecomputed, word, &std::pair<std::string_view, RecomputeModule>::first);
      if (word == "core_attn") {
        job.parallelism.recompute = ActivationRecompute::kSelective;
      } else if (known != kRecomputed.end()) {
        job.parallelism.modules.add(known->second);
      } else {
        job.note(LaunchNote::kNotModelled, "recompute_modules " + word);
      }
      word.clear();
    }
  }
}

void set_recompute(const Settings& settings, LaunchJob& job) {
  if (job.parallelism.tensor == 1) {  // there is nobody to divide what is kept with
    for (const char* name : {"partition_activations", "distribute_saved_activations"}) settings.note_read(name);
  }
  const std::string what = setting_name(settings.text("recompute_granularity", "none"));
  if (what != "none" && what != "selective" && what != "full" && what != "false" && what != "true") {
    settings.fail("recompute_granularity", "expected full or selective, found '" + what + "'");
  }
  if (what == "selective") set_recompute_modules(settings, job);
  if (what != "full" && what != "true") return;
  job.parallelism.recompute = ActivationRecompute::kFull;
  const bool block = is_text(settings, "recompute_method", {"block"});
  const std::int64_t each = settings.whole("recompute_num_layers", 1, 0);
  if (block) {
    job.parallelism.recompute = each > 0 ? ActivationRecompute::kFull : ActivationRecompute::kNone;
    job.parallelism.recompute_layers = each;
  } else if (each > 1) {
    job.note(LaunchNote::kNotModelled,
             "recompute_num_layers " + std::to_string(each) + ": priced as 1, one input kept per layer");
  }
}

/// The orders of the zero-bubble fork, which has a runtime of its own.
void set_zero_bubble(const Settings& settings, LaunchJob& job) {
  const std::string memory = setting_name(settings.text("zero_bubble_v_schedule_mem_setup", "zb"));
  const bool v = settings.flag("zero_bubble_v_schedule");
  const bool simple_v = settings.flag("enable_1f1b_v");
  const std::int64_t pending = is_text(settings, "zero_bubble_max_pending_backward", {"auto"})
                                   ? 0
                                   : settings.whole("zero_bubble_max_pending_backward", 0, 0);
  job.chunks = v || simple_v ? 2 : 1;
  job.schedule = simple_v           ? "1f1b-v"
                 : !v               ? (pending >= 2 * job.pipeline ? "zb-2p" : "zb-1p")
                 : memory == "half" ? "v-half"
                 : memory == "min"  ? "v-min"
                                    : "zb-v";
  job.rules = "zero-bubble";
}

struct NamedOrder {
  std::string_view name;
  std::string_view schedule;
  std::int64_t chunks = 1;  ///< 0: as many as the file says
};

/// Orders that forks name in one setting: `pp_algorithm` of Primus, `schedules_method` of MindSpeed.
constexpr std::array<NamedOrder, 8> kNamedOrders{{{"1f1b", "1f1b", 1},
                                                  {"1f1b_interleaved", "interleaved", 0},
                                                  {"zero_bubble", "zb-1p", 1},
                                                  {"zero_bubble_heuristic", "zb-auto", 1},
                                                  {"zbv_formatted", "zb-v", 2},
                                                  {"v_half", "v-half", 2},
                                                  {"v_min", "v-min", 2},
                                                  {"dualpipev", "dualpipev", 2}}};

/// Returns whether a fork's setting names the order.
bool set_named_order(const Settings& settings, LaunchJob& job) {
  if (settings.flag("enable_zbh1_pipeline")) {  // Megatron-DeepSpeed
    job.chunks = 1;
    job.schedule = "zb-h1";
    job.rules = "zero-bubble";
    return true;
  }
  const bool primus = settings.flag("patch_primus_pipeline");
  const std::string_view name = primus ? "pp_algorithm" : "schedules_method";
  if (!settings.has(name)) return false;
  if (!primus) settings.note_read("pp_algorithm");
  const std::string order = setting_name(settings.text(name));
  const auto known = std::ranges::find(kNamedOrders, order, &NamedOrder::name);
  if (known == kNamedOrders.end()) settings.fail(name, "expected a known schedule, found '" + order + "'");
  if (known->schedule == "interleaved" && job.chunks == 1) return false;
  if (known->chunks > 0) job.chunks = known->chunks;
  job.schedule = known->schedule;
  if (known->schedule != "1f1b" && known->schedule != "interleaved") job.rules = "zero-bubble";
  return true;
}

/// The orders of Megatron-LM, and of what is built on it.
void set_schedule(const Settings& settings, LaunchJob& job) {
  if (job.pipeline > 1 && set_named_order(settings, job)) return;
  // Primus keeps the fork's settings, and has a switch above them.
  const bool patched = !settings.all().contains("patch_zero_bubble") || settings.flag("patch_zero_bubble");
  for (const char* name : {"enable_zero_bubble", "zero_bubble_v_schedule", "enable_1f1b_v"}) {
    if (settings.flag(name) && patched) return set_zero_bubble(settings, job);
  }
  if (job.chunks == 1) return;
  job.schedule = "interleaved";
  job.schedule_options["group"] =
      std::to_string(settings.whole("microbatch_group_size_per_virtual_pipeline_stage", job.pipeline));
  if (job.parallelism.overlap_experts) job.schedule_options["ahead"] = "1";
}

/// Returns the units of every stage.
std::vector<std::int64_t> stage_units(const Settings& settings, std::int64_t units, LaunchJob& job) {
  if (job.runtime != "deepspeed" || job.chunks > 1 || settings.has("pipeline_model_parallel_layout"))
    return megatron_stage_units(settings, units, job.pipeline, job.chunks);
  const std::string method = settings.text("pp_partition_method", "type:transformer");
  if (!method.starts_with("type:")) {
    job.note(LaunchNote::kNotModelled, "pp_partition_method " + method + ": layers are divided evenly");
  }
  return deepspeed_stage_units(settings, units, job.pipeline);
}

void set_partition(const Settings& settings, LaunchJob& job) {
  const PipelineUnits units = megatron_units(*job.network, settings);
  const auto count = static_cast<std::int64_t>(units.units.size());
  job.chunks = megatron_chunks(settings, count, job.pipeline);
  if (job.chunks > count || job.pipeline > count + 2) settings.fail("num_layers", "expected more layers than stages");
  set_schedule(settings, job);
  try {
    job.partition = cut_at_units(units, stage_units(settings, count, job));
  } catch (const Error&) {
    // Patterns say themselves where stages begin; runtimes cut the rest as evenly as they can.
    if (!settings.has("hybrid_layer_pattern")) throw;
    job.partition = equal_partition(*job.network, static_cast<std::int32_t>(job.pipeline * job.chunks));
    job.note(LaunchNote::kAssumed, "the layers of the pattern divided as evenly as possible");
  }
}

/// Returns whether it is as if it were not there.
bool is_off(const Setting& setting) {
  if (setting.values.size() != 1) return false;
  const std::string value = setting_name(setting.values.front());
  static constexpr std::array<std::string_view, 11> kOff{"false", "none", "null",     "~",         "0",      "0.0",
                                                         "",      "[]",   "no_shard", "causal_lm", "vanilla"};
  return std::ranges::find(kOff, value) != kOff.end();
}

/// Returns " VALUE", what of it is short and known.
std::string shown_value(const Setting& setting) {
  constexpr std::size_t kShort = 40;
  const bool plain = setting.values.size() == 1 && unknown_in(setting.values.front()).empty() &&
                     setting.values.front().size() <= kShort;
  return plain && setting_name(setting.values.front()) != "true" ? " " + setting.values.front() : "";
}

/// Every name that nobody read, by its class.
void note_unread(const Settings& settings, LaunchJob& job) {
  for (const std::string& name : settings.unread()) {
    const std::string_view leaf =
        std::string_view(name).substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
    const Setting& setting = settings.all().at(name);
    if (megatron_setting_class(leaf) == SettingClass::kUnknown) settings.refuse_given(name);
    if (is_off(setting)) continue;
    switch (megatron_setting_class(leaf)) {
      case SettingClass::kDecides:
        job.note(LaunchNote::kDecides, "without " + name + shown_value(setting) + ", which is not modelled");
        break;
      case SettingClass::kNotModelled:
        job.note(LaunchNote::kNotModelled, name);
        break;
      case SettingClass::kUnknown:
        job.note(LaunchNote::kUnknown, name);
        break;
      case SettingClass::kNoEffect:
        job.note(LaunchNote::kNoEffect, name);
        break;
    }
  }
}

/// Returns whether the settings say anything of the network; otherwise it is that of a checkpoint, or of a program.
bool describes_network(const Settings& settings) {
  const auto is_said = [&](const char* name) { return settings.has(name); };
  // Layers alone are an answer to a program that has the rest of the network.
  const bool layers = is_said("num_layers") && !is_said("base_config");
  const bool network = is_said("hidden_size") || layers || is_said("hybrid_layer_pattern");
  static constexpr std::array<const char*, 7> kOfJobs{"micro_batch_size",
                                                      "global_batch_size",
                                                      "seq_length",
                                                      "gradient_accumulation_steps",
                                                      "tensor_model_parallel_size",
                                                      "pipeline_model_parallel_size",
                                                      "use_checkpoint_args"};
  if (!network && std::ranges::none_of(kOfJobs, is_said)) {
    throw Error(settings.source() +
                ": says nothing of a training job, expected settings of Megatron-LM, NeMo, Megatron-Bridge, Primus, "
                "GPT-NeoX or ms-swift such as num_layers or micro_batch_size");
  }
  return network;
}

/// The network comes from elsewhere; everything else is known.
void set_without_network(const Settings& settings, LaunchJob& job) {
  for (const char* name : {"model", "model_id", "hf_model_path", "hf_path", "hf_checkpoint", "load", "mcore_model"}) {
    const Setting* setting = settings.find(name);
    const bool named = setting != nullptr && setting->values.size() == 1 && unknown_in(setting->values.front()).empty();
    if (!named || !job.network_name.empty()) continue;
    job.network_name = setting->values.front();
    job.missing = setting->place + ": " + name + ": the network is that of '" + job.network_name + "'";
  }
  if (settings.has("base_config")) {
    job.missing = settings.find("base_config")->place + ": base_config: the network '" + settings.text("base_config") +
                  "' is that of a program";
  }
  if (settings.flag("use_checkpoint_args")) {
    job.network_name.clear();
    job.missing =
        settings.find("use_checkpoint_args")->place + ": use_checkpoint_args: the checkpoint says the network";
  }
  job.parallelism.sequence = settings.whole("seq_length", 0, 0);
  if (job.parallelism.sequence > kMostRanks * kMostRanks / 1024) settings.fail("seq_length", "expected a length");
  job.stage_layers = settings.whole("num_layers_per_virtual_pipeline_stage", 0, 0);
  job.chunks = settings.whole("num_virtual_stages_per_pipeline_rank", 1);
  if (job.chunks > kMostRanks) settings.fail("num_virtual_stages_per_pipeline_rank", "expected fewer stages");
  set_schedule(settings, job);
}

}  // namespace

LaunchJob megatron_job(const Settings& settings, bool is_command_line) {
  LaunchJob job;
  job.source = settings.source();
  job.runtime = runs_deepspeed(settings) ? "deepspeed" : "megatron";
  refuse_other_models(settings, is_command_line);
  set_degrees(settings, job);
  set_precision(settings, job);
  set_sharding(settings, job);
  if (runs_deepspeed(settings)) run_by_deepspeed(settings.flag("bf16") || settings.flag("bf16.enabled"), job);
  set_megatron_optimizer(settings, job);
  set_experts(settings, job);
  set_memory(settings, job);
  set_recompute(settings, job);
  set_adapters(settings, job);
  if (describes_network(settings)) {
    job.network = megatron_network(settings, job);
    set_partition(settings, job);
  } else {
    set_without_network(settings, job);
  }
  if (settings.has("overlap_p2p_comm")) job.hides_messages = settings.flag("overlap_p2p_comm", true);
  set_machine(settings, job);
  note_unread(settings, job);
  return job;
}

}  // namespace plumb
