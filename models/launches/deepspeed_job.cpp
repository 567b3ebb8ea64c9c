#include "models/launches/deepspeed_job.hpp"

#include <algorithm>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// 0 where it is not said, or "auto".
std::int64_t number_or_auto(const Settings& settings, std::string_view name) {
  if (settings.text(name, "auto") == "auto") return 0;
  const std::int64_t number = settings.whole(name, 0);
  if (number > std::int64_t{1} << 30) settings.fail(name, "expected at most 2^30");
  return number;
}

/// Returns whether a flag is on; "auto" is what Hugging Face's trainer is told, and not in the file.
bool is_on(const Settings& settings, std::string_view name, bool by_itself, LaunchJob& job) {
  if (settings.text(name, "") != "auto") return settings.flag(name);
  job.note(LaunchNote::kAssumed, std::string(name) + (by_itself ? " auto: on" : " auto: off"));
  return by_itself;
}

void note_deepspeed(const Settings& settings, LaunchJob& job) {
  for (const std::string& name : settings.unread()) {
    const bool offload = name.find("offload_param.device") != std::string::npos;
    if (offload) {
      job.note(LaunchNote::kDecides, "without " + name + " " + settings.text(name, "") + ", which is not modelled");
      continue;
    }
    const bool shown = offload || name.starts_with("zero_optimization") ||
                       name.starts_with("activation_checkpointing") || name.starts_with("pipeline");
    if (!shown) settings.refuse_given(name);
    job.note(shown ? LaunchNote::kNotModelled : LaunchNote::kNoEffect, name);
  }
}

}  // namespace

void run_by_deepspeed(bool bf16, LaunchJob& job) {
  // Weights have no accumulator that a product could add to (Megatron's `main_grad`): PyTorch adds up gradients, by
  // kernels. Those of a bf16 run that its pipeline does not add up in 32 bits are left out: nobody looked them up.
  if (job.pipeline > 1 || job.parallelism.precision.gradient_bytes == 2) {
    job.parallelism.weight_gradients = WeightGradients::kSummed;
  }
  if (!bf16 || job.pipeline == 1 || job.parallelism.zero != ZeroStage::kNone) return;
  job.parallelism.zero = ZeroStage::kOptimizer;
  job.note(LaunchNote::kAssumed, "the optimizer sharded as by ZeRO 1, which DeepSpeed does in a pipeline of bf16");
}

LaunchJob deepspeed_job(const Settings& settings) {
  const bool known = settings.has("train_batch_size") || settings.has("train_micro_batch_size_per_gpu") ||
                     settings.has("zero_optimization.stage");
  if (!known) {
    throw Error(settings.source() +
                ": expected a configuration of DeepSpeed with train_batch_size or "
                "train_micro_batch_size_per_gpu");
  }
  LaunchJob job{.source = settings.source(), .runtime = "deepspeed"};
  const auto number = [&](std::string_view name) { return number_or_auto(settings, name); };
  Parallelism& ranks = job.parallelism;
  ranks.data = 0;
  ranks.microbatch_size = number("train_micro_batch_size_per_gpu");
  job.batch = number("train_batch_size");
  job.accumulation = std::max<std::int64_t>(number("gradient_accumulation_steps"), job.batch == 0 ? 1 : 0);
  job.batch_assumed = job.batch == 0 && number("gradient_accumulation_steps") == 0;
  if (ranks.microbatch_size == 0) {
    ranks.microbatch_size = 1;
    job.note(LaunchNote::kAssumed, "one sample per microbatch: train_micro_batch_size_per_gpu is not said");
  }
  const std::int64_t of_rank = number("train_micro_batch_size_per_gpu") * number("gradient_accumulation_steps");
  if (job.batch > 0 && of_rank > 0) {
    if (job.batch % of_rank != 0) {
      settings.fail("train_batch_size",
                    "expected a multiple of train_micro_batch_size_per_gpu times "
                    "gradient_accumulation_steps, " +
                        std::to_string(of_rank));
    }
    job.data_ranks = job.batch / of_rank;
  }
  ranks.tensor =
      std::max<std::int64_t>(1, std::max(number("tensor_parallel.autotp_size"), number("tensor_parallel.tp_size")));
  ranks.context = std::max<std::int64_t>(1, number("sequence_parallel_size"));
  ranks.context_by_heads = ranks.context > 1;  // Ulysses
  job.pipeline = std::max<std::int64_t>(1, number("pipeline.stages"));
  const std::int64_t interval = settings.whole("pipeline.activation_checkpoint_interval", 0, 0);
  if (interval > 0) ranks.recompute = ActivationRecompute::kFull;
  if (interval > 1) {
    job.note(LaunchNote::kNotModelled,
             "pipeline.activation_checkpoint_interval: priced as 1, one input kept per layer");
  }
  const std::int64_t stage = settings.whole("zero_optimization.stage", 0, 0);
  if (stage > 3) settings.fail("zero_optimization.stage", "expected 0 to 3");
  ranks.zero = static_cast<ZeroStage>(stage);
  ranks.overlap_gradients = settings.text("zero_optimization.overlap_comm", "auto") == "auto"
                                ? stage == 3
                                : settings.flag("zero_optimization.overlap_comm");
  const bool both = settings.has("bf16.enabled") || settings.has("bfloat16.enabled");
  const bool bf16 = is_on(settings, "bf16.enabled", true, job) || is_on(settings, "bfloat16.enabled", true, job);
  const bool half = is_on(settings, "fp16.enabled", !both, job);
  if (!half && !bf16) ranks.precision = Precision{};
  if (half) ranks.precision.gradient_bytes = 2;
  job.half = half;
  run_by_deepspeed(bf16, job);
  const std::string device = settings.text("zero_optimization.offload_optimizer.device", "none");
  if (device == "cpu" || device == "nvme") offload_optimizer(job);
  set_optimizer(settings.text("optimizer.type", ""), settings.real("optimizer.params.momentum", 0), job);
  note_deepspeed(settings, job);
  return job;
}

}  // namespace plumb
