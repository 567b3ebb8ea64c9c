#include "models/launches/launch.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <numeric>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostParts = std::int64_t{1} << 20;  ///< of a stage, so that products of them fit

/// "tp 8 x cp 2 x pp 4"
std::string ranks_text(const LaunchJob& job) {
  std::string text = "tp " + std::to_string(job.parallelism.tensor);
  if (job.parallelism.context > 1) text += " x cp " + std::to_string(job.parallelism.context);
  return text + " x pp " + std::to_string(job.pipeline);
}

/// Multiplies up to 2^40, because degrees of a file can be anything.
std::int64_t product_of(std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;
    product = factor > kMost / product ? kMost : product * factor;
  }
  return product;
}

/// What `PipelineEngine` and `_batch_assertion` of DeepSpeed refuse.
void refuse_as_deepspeed(const LaunchJob& job) {
  if (job.runtime != "deepspeed") return;
  if (job.pipeline > 1 && job.parallelism.zero > ZeroStage::kOptimizer) {
    throw Error(job.source + ": ZeRO " + std::to_string(static_cast<int>(job.parallelism.zero)) + " beside " +
                std::to_string(job.pipeline) + " pipeline stages: DeepSpeed does not have it, expected ZeRO 0 or 1");
  }
  const std::int64_t runs = product_of({job.parallelism.microbatch_size, job.accumulation, job.parallelism.data});
  if (job.batch > 0 && job.accumulation > 0 && job.batch != runs) {
    throw Error(job.source + ": the batch of " + std::to_string(job.batch) + " samples, expected " +
                std::to_string(runs) + ": " + std::to_string(job.parallelism.microbatch_size) +
                " per microbatch, accumulated " + std::to_string(job.accumulation) + " times on " +
                std::to_string(job.parallelism.data) +
                " data-parallel ranks (DeepSpeed refuses another one; without an accumulation it follows)");
  }
}

/// Experts that the ranks of a stage do not hold whole.
void refuse_experts(const LaunchJob& job, std::int64_t devices) {
  const Parallelism& ranks = job.parallelism;
  const std::int64_t parts = product_of({ranks.expert_parts(), ranks.expert});
  if (ranks.expert <= 1 || ranks.devices_per_stage() % parts == 0) return;
  throw Error(job.source + ": the experts take " + std::to_string(parts) + " devices of a stage (ep " +
              std::to_string(ranks.expert) + " x etp " + std::to_string(ranks.expert_parts()) +
              "), expected a number of devices of which each of " + std::to_string(job.pipeline) +
              " stages has a multiple of them, found " + std::to_string(devices) +
              "; --cluster NAME-NODESxDEVICES gives another number");
}

}  // namespace

bool is_launch_path(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kEndings{".sh",   ".slurm", ".sbatch", ".sub",
                                                            ".toml", ".yaml",  ".yml"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

std::int64_t LaunchJob::model_ranks() const { return product_of({parallelism.tensor, parallelism.context, pipeline}); }

std::int64_t LaunchJob::least_devices() const {
  const std::int64_t experts = std::min(kMostParts, product_of({parallelism.expert_parts(), parallelism.expert}));
  const std::int64_t copy = std::min(kMostParts, product_of({parallelism.tensor, parallelism.context}));
  const std::int64_t stage = parallelism.expert > 1 ? std::lcm(copy, experts) : copy;
  return product_of({stage, pipeline});
}

std::int64_t LaunchJob::devices() const {
  return nodes > 0 ? product_of({nodes, per_node}) : product_of({data_ranks, model_ranks()});
}

void set_optimizer(std::string_view name, double momentum, LaunchJob& job) {
  std::string plain;
  for (const char letter : name) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const auto is_in = [&](std::string_view part) { return plain.find(part) != std::string::npos; };
  if (plain.empty()) return;
  constexpr std::int64_t kMoment = 4;  // bytes of one of Adam's two moments
  std::int64_t& bytes = job.parallelism.precision.optimizer_bytes;
  const auto told = [&](LaunchNote::Kind kind, const char* what) {
    job.note(kind, "the optimizer " + std::string(name) + ": " + std::to_string(bytes) +
                       " bytes of state for a weight" + what);
  };
  if (is_in("sgd")) {
    bytes -= momentum > 0 ? kMoment : 2 * kMoment;
    return told(LaunchNote::kAssumed, momentum > 0 ? ", with its momentum" : ", without momentum");
  }
  if (is_in("lion") || is_in("signum")) {
    bytes -= kMoment;
    return told(LaunchNote::kAssumed, ", one moment");
  }
  if (is_in("muon")) {
    bytes -= kMoment;
    return told(LaunchNote::kDecides,
                ", as of its matrices; the products of its update are not part of the prediction");
  }
  static constexpr std::array<std::string_view, 3> kAdams{"adam", "mcore_distributed_optim", "lamb"};
  if (std::ranges::any_of(kAdams, is_in) && !is_in("8bit")) return;
  job.note(LaunchNote::kDecides,
           "the optimizer " + std::string(name) + " is priced as Adam (12 bytes of state for a weight)");
}

void offload_optimizer(LaunchJob& job) {
  constexpr double kHostUpdate = 20e9;  // bytes a second for every device: memory of a host, shared by its devices
  job.parallelism.storage_bytes_per_s = kHostUpdate;
  job.note(
      LaunchNote::kDecides,
      "the state of the optimizer is on the host, which updates it at 20 GB/s for every device (--storage-update)");
}

void place_launch(LaunchJob& job, std::int64_t devices) {
  constexpr std::int64_t kMostLaunched = std::int64_t{1} << 30;
  if (std::max({job.parallelism.microbatch_size, job.batch, job.accumulation}) > kMostLaunched ||
      job.model_ranks() > kMostLaunched) {
    throw Error(job.source + ": expected fewer samples and ranks");
  }
  const std::int64_t copy = job.model_ranks();
  if (devices < 1 || devices % copy != 0) {
    throw Error(job.source + ": one copy of the model takes " + std::to_string(copy) + " devices (" + ranks_text(job) +
                "), expected a multiple of them, found " + std::to_string(devices) +
                "; --cluster NAME-NODESxDEVICES gives another number");
  }
  job.parallelism.data = devices / copy;
  refuse_as_deepspeed(job);
  refuse_experts(job, devices);
  const std::int64_t at_once = job.parallelism.microbatch_size * job.parallelism.data;
  if (job.batch == 0) {
    job.microbatches = job.accumulation;
    job.batch = job.accumulation * at_once;
  }
  if (job.batch % at_once != 0) {
    throw Error(job.source + ": the batch of " + std::to_string(job.batch) + " samples, expected a multiple of " +
                std::to_string(at_once) + " (" + std::to_string(job.parallelism.microbatch_size) + " of each of " +
                std::to_string(job.parallelism.data) + " data-parallel ranks)");
  }
  job.microbatches = job.batch / at_once;
}

}  // namespace plumb
