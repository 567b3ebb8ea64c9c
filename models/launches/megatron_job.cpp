#include "models/launches/megatron_job.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "models/launches/deepspeed_job.hpp"
#include "models/launches/megatron_names.hpp"
#include "models/launches/megatron_network.hpp"
#include "models/launches/pipeline_layout.hpp"

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

void set_degrees(const Settings& settings, LaunchJob& job) {
  Parallelism& ranks = job.parallelism;
  ranks.tensor = degree(settings, "tensor_model_parallel_size");
  ranks.context = degree(settings, "context_parallel_size");
  ranks.context_by_heads = is_text(settings, "cp_comm_type", {"a2a"}) && ranks.context > 1;
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
  if (!computes_in_16_bits(settings)) ranks.precision = Precision{};
  const bool half = settings.flag("fp16") || settings.flag("fp16.enabled");
  job.half = half || is_text(settings, "precision", {"16", "fp16", "16_mixed"});
  const bool wide = settings.flag("accumulate_allreduce_grads_in_fp32", !half);
  if (ranks.precision == kMixedPrecision &&
      (settings.flag("grad_reduce_in_bf16") || settings.flag("ddp.grad_reduce_in_bf16") ||
       (settings.has("grad_reduce_in_fp32") && !settings.flag("grad_reduce_in_fp32")) || !wide)) {
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

/// State and update are those of Adam.
void note_optimizer(const Settings& settings, LaunchJob& job) {
  for (const char* name : {"optimizer", "optim.name", "optimizer.optimizer", "optimizer.type"}) {
    const Setting* setting = settings.find(name);
    if (setting == nullptr || setting->values.size() != 1 || !unknown_in(setting->values.front()).empty()) continue;
    note_other_optimizer(setting->values.front(), job);
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
  const bool flash = settings.flag("use_flash_attn");
  // Megatron-DeepSpeed has kernels of its own, and fuses attention only when it is told.
  const std::string kernels = settings.text("transformer_impl", runs_deepspeed(settings) ? "local" : "");
  const bool local = setting_name(kernels) == "local" && !flash;
  ranks.flash_attention =
      !is_text(settings, "attention_backend", {"unfused", "local", "attnbackend.unfused"}) && !local;
  // Megatron's default is a dropout of 0.1.
  ranks.dropout = std::max(settings.real("attention_dropout", 0.1), settings.real("hidden_dropout", 0.1)) > 0;
  ranks.fused_loss =
      settings.flag("cross_entropy_loss_fusion") && is_text(settings, "cross_entropy_fusion_impl", {"te"});
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

/// The orders of Megatron-LM, and those of its zero-bubble fork.
void set_schedule(const Settings& settings, LaunchJob& job) {
  if (settings.flag("enable_zero_bubble") || settings.flag("zero_bubble_v_schedule")) {
    const std::string memory = setting_name(settings.text("zero_bubble_v_schedule_mem_setup", "zb"));
    const bool v = settings.flag("zero_bubble_v_schedule");
    const std::int64_t pending = is_text(settings, "zero_bubble_max_pending_backward", {"auto"})
                                     ? 0
                                     : settings.whole("zero_bubble_max_pending_backward", 0, 0);
    job.chunks = v ? 2 : 1;
    job.schedule = !v                 ? (pending >= 2 * job.pipeline ? "zb-2p" : "zb-1p")
                   : memory == "half" ? "v-half"
                   : memory == "min"  ? "v-min"
                                      : "zb-v";
    return;
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

void set_machine(const Settings& settings, LaunchJob& job) {
  const auto known = [&](std::initializer_list<std::string_view> names) -> std::int64_t {
    for (const std::string_view name : names) {
      const Setting* setting = settings.find(name);
      if (setting == nullptr || setting->values.size() != 1 || !unknown_in(setting->values.front()).empty()) continue;
      const std::string& text = setting->values.front();
      if (text.find_first_not_of("0123456789") == std::string::npos && text.size() < 7)
        return settings.whole(name, 0, 0);
    }
    return 0;
  };
  job.nodes = known({"nnodes", "num_nodes", "trainer.num_nodes"});
  job.per_node = known({"nproc_per_node", "num_gpus", "trainer.devices", "gpus_per_node", "devices"});
  // torchrun and deepspeed launch on one node unless they are told.
  if (job.nodes == 0 && job.per_node > 0 && !settings.has("nnodes") && !settings.has("num_nodes")) job.nodes = 1;
  if (const std::int64_t world = known({"world_size"}); world > 0 && job.devices() == 0) {
    job.per_node = std::min<std::int64_t>(8, world);
    job.nodes = world / job.per_node;
  }
}

/// Every name that nobody read, by its class.
void note_unread(const Settings& settings, LaunchJob& job) {
  for (const std::string& name : settings.unread()) {
    const std::string_view leaf =
        std::string_view(name).substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
    const Setting& setting = settings.all().at(name);
    if (megatron_setting_class(leaf) == SettingClass::kUnknown) settings.refuse_given(name);
    if (setting.values.size() == 1 &&
        (setting_name(setting.values.front()) == "false" || setting.values.front() == "None"))
      continue;
    switch (megatron_setting_class(leaf)) {
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

}  // namespace

LaunchJob megatron_job(const Settings& settings) {
  LaunchJob job;
  job.source = settings.source();
  job.runtime = runs_deepspeed(settings) ? "deepspeed" : "megatron";
  set_degrees(settings, job);
  set_precision(settings, job);
  set_sharding(settings, job);
  if (runs_deepspeed(settings)) run_by_deepspeed(settings.flag("bf16") || settings.flag("bf16.enabled"), job);
  note_optimizer(settings, job);
  set_experts(settings, job);
  set_memory(settings, job);
  set_recompute(settings, job);
  job.network = megatron_network(settings, job);
  set_partition(settings, job);
  if (settings.has("overlap_p2p_comm")) job.hides_messages = settings.flag("overlap_p2p_comm", true);
  set_machine(settings, job);
  note_unread(settings, job);
  return job;
}

}  // namespace plumb
