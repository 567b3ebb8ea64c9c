#include "tools/measured_steps/measured_job.hpp"

#include <algorithm>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/ground/units.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/vocabulary_shares.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/simulate.hpp"
#include "tools/measured_steps/step_partition.hpp"

namespace plumb {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Embedding and head are divided over all devices.
bool divides_vocabulary(const MeasuredStep& row) {
  return has(row.schedule, "vocabulary parallel") || has(row.schedule, "interlaced");
}

/// Returns the schedule that its source names.
Schedule step_schedule(const MeasuredStep& row, const JobCosts& costs) {
  ScheduleParams params;
  params.num_devices = static_cast<std::int32_t>(row.pipeline);
  params.num_microbatches = row.num_microbatches;
  if (row.chunks > 1) {
    params.chunks = static_cast<std::int32_t>(row.chunks);
    if (row.group > 0) params.options["group"] = std::to_string(row.group);
    return generate("interleaved", params);
  }
  if (has(row.schedule, "1F1B interlaced")) return generate("1f1b-interlaced", params);
  if (divides_vocabulary(row)) {
    params.options["barriers"] = has(row.schedule, "2 barriers") ? "2" : "1";
    return generate("1f1b-vocab", params);
  }
  if (!row.schedule.starts_with("ZB-")) return generate("1f1b", params);
  StageCosts searched = costs.costs;
  searched.comm = 0;
  params.costs = [searched](std::int32_t) { return searched; };
  return generate(has(row.schedule, "2p") ? "zb-2p" : "zb-1p", params);
}

/// Tokens see those of their own sample that come before them, half of it on average; fused attention works through
/// whole tiles where the mask cuts one.
void pack_samples(std::vector<LayerSpec>& layers, std::int64_t tokens) {
  constexpr std::int64_t kTile = 128;
  for (LayerSpec& layer : layers) {
    if (layer.kind == LayerKind::kAttention) layer.window = tokens / 2 + kTile;
    pack_samples(layer.body, tokens);
  }
}

/// Returns the network that the recipe names, or the one that the columns describe; in the row's lengths.
Network network_of(const MeasuredStep& row, const RecipeSource& source, const RecipeFacts& facts) {
  if (facts.network.empty()) return step_network(row);
  const bool is_file = facts.network.find('/') != std::string::npos;
  Network network = load_network(is_file ? (source.folder / facts.network).string() : facts.network);
  network.sequence = row.sequence;
  network.samples = row.microbatch_size;
  if (facts.packed_samples > 0) pack_samples(network.layers, facts.packed_samples);
  return network;
}

}  // namespace

RecipeSource step_source(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path file = folder / (name + ".json");
  if (!std::filesystem::exists(file)) return {.folder = folder};
  return {.recipe = StepRecipe(read_text_file(file.string()), name + ".json"), .folder = folder};
}

std::variant<MeasuredJob, std::string> measured_job(const MeasuredStep& row, const RecipeSource& source) {
  const RecipeFacts facts = source.recipe.facts(row);
  if (!facts.refusal.empty()) return facts.refusal;
  if (std::string why = refusal(row, !facts.network.empty()); !why.empty()) return why;
  if (row.num_gpus < 1) return "num_gpus is not stated";
  std::optional<Cluster> cluster =
      source.cluster ? sized_cluster(*source.cluster, row.num_gpus) : step_cluster(row, facts);
  if (!cluster) return "no cluster and rates for " + row.gpu;
  Parallelism parallelism = step_parallelism(row);
  source.recipe.apply(row, parallelism);
  // The zero-bubble runtime computes while messages are on their way.
  const bool overlap_messages = facts.overlap_messages || row.schedule.starts_with("ZB-");
  return MeasuredJob{row,
                     network_of(row, source, facts),
                     parallelism,
                     *std::move(cluster),
                     overlap_messages,
                     facts.flash_version,
                     facts.kept_layers,
                     facts.layout};
}

std::optional<Cluster> step_cluster(const MeasuredStep& row, const RecipeFacts& facts) {
  std::string name = facts.cluster;
  if (!name.empty()) {
    // said
  } else if (row.data == "vtrain") {
    name = "vtrain";
  } else if (row.gpu.starts_with("A100") && !has(row.gpu, "PCIe")) {
    name = row.data == "megatron-papers" ? "megatron" : "a100";
  } else if (row.gpu == "H100") {
    name = "h100";
  } else if (row.gpu == "B200") {
    name = "b200";
  }
  if (name.empty() || row.num_gpus < 1) return std::nullopt;
  const std::int64_t per_node = std::min<std::int64_t>(facts.per_node > 0 ? facts.per_node : 8, row.num_gpus);
  const std::int64_t nodes = (row.num_gpus + per_node - 1) / per_node;
  return load_cluster(name + "-" + std::to_string(nodes) + "x" + std::to_string(per_node));
}

namespace {

/// Rates of devices are those of FlashAttention 2 and later. The first one is about half as fast (Dao 2023,
/// arXiv 2307.08691).
KernelRates rates_of_software(const MeasuredJob& job, KernelRates rates) {
  constexpr double kFirstFlashAttention = 0.5;
  if (job.flash_version > 1) return rates;
  rates.attention_forward *= kFirstFlashAttention;
  rates.attention_backward *= kFirstFlashAttention;
  for (AttentionPoint& point : rates.attentions) point.efficiency *= kFirstFlashAttention;
  return rates;
}

Ticks between(Ticks of_format, Ticks kept, double share) {
  return of_format + static_cast<Ticks>(share * static_cast<double>(kept - of_format));
}

/// Each stage as if `share` of it took what it takes in `kept`: what recipes say of the last layers is taken for layers
/// everywhere, since the jobs that say it have one stage.
void keep_layers(StageCosts& costs, const StageCosts& kept, double share) {
  for (std::size_t s = 0; s < costs.times.size(); ++s) {
    for (const auto time : {&StageTimes::f, &StageTimes::b, &StageTimes::i, &StageTimes::w}) {
      costs.times[s].*time = between(costs.times[s].*time, kept.times[s].*time, share);
    }
  }
}

}  // namespace

JobCosts measured_job_costs(const MeasuredJob& job, const KernelRates& device) {
  const KernelRates rates = rates_of_software(job, device);
  const auto places = static_cast<std::int32_t>(job.row.pipeline);
  const auto stages = static_cast<std::int32_t>(job.row.pipeline * std::max<std::int64_t>(1, job.row.chunks));
  const JobMachine machine{job.cluster, places, rates};
  if (divides_vocabulary(job.row)) {
    const Partition layers = equal_partition(without_vocabulary(job.network), stages);
    return vocabulary_job_costs(job.network, layers, machine, job.parallelism, *step_schedule(job.row, {}).vocabulary);
  }
  const Partition partition = step_partition(job.row, job.network, stages, job.layout);
  JobCosts costs = job_costs(job.network, partition, machine, job.parallelism);
  if (job.kept_layers > 0) {
    Parallelism in_16_bits = job.parallelism;
    in_16_bits.format = MatrixFormat::kBf16;
    keep_layers(costs.costs, job_costs(job.network, partition, machine, in_16_bits).costs, job.kept_layers);
  }
  return costs;
}

namespace {

/// The zero-bubble runtime validates an update after it was made: devices do not wait for each other between steps, so
/// that a step takes as long as the device that is occupied longest (Qi et al. 2023, section 4).
bool steps_are_validated_later(const MeasuredStep& row) {
  return row.schedule.starts_with("ZB-") && !has(row.schedule, "synchronous");
}

/// Megatron's 1F1B and interleaved schedules wait for the messages of every pass before the next pass, with the host
/// (`batch_p2p_sync`), which then starts over: a pass takes its message longer, and the host's calls for it.
void wait_for_messages(JobCosts& job, std::int64_t places) {
  constexpr std::int64_t kHostCalls = 5;  // two sends, two receives, one synchronisation
  const auto waiting = [&](std::size_t from, std::size_t to, std::int64_t bytes) {
    const auto place = [places](std::size_t stage) {
      return DeviceId{static_cast<std::int32_t>(stage % static_cast<std::size_t>(places))};
    };
    const auto route = job.pipeline.route(place(from), place(to));
    const double moving_s = route.bytes_per_s > 0 ? static_cast<double>(bytes) / route.bytes_per_s : 0;
    return kHostCalls * job.rates.host_ns + route.latency_ns + static_cast<Ticks>(moving_s * kNsPerSecond);
  };
  for (std::size_t s = 0; places > 1 && s < job.costs.times.size(); ++s) {
    const StageMemory& memory = job.costs.memory[s];
    if (s + 1 < job.costs.times.size()) job.costs.times[s].f += waiting(s, s + 1, memory.output_bytes);
    if (s > 0) job.costs.times[s].b += waiting(s, s - 1, memory.input_grad_bytes);
  }
}

}  // namespace

Timeline predicted_step(const MeasuredJob& job, const KernelRates& rates) {
  JobCosts costs = measured_job_costs(job, rates);
  if (!job.overlap_messages) wait_for_messages(costs, job.row.pipeline);
  const Schedule schedule = step_schedule(job.row, costs);
  return simulate_summary(schedule, costs.costs, &costs.pipeline);
}

double predicted_step_s(const MeasuredJob& job, const KernelRates& rates) {
  const Timeline timeline = predicted_step(job, rates);
  Ticks step = timeline.step_time;
  if (steps_are_validated_later(job.row)) {
    step = 0;
    for (const DeviceSummary& device : timeline.devices) step = std::max(step, device.last_end - device.first_start);
  }
  return static_cast<double>(to_ns(step, timeline.base)) * 1e-9;
}

double predicted_memory_gib(const MeasuredJob& job, const KernelRates& rates) {
  const Timeline timeline = predicted_step(job, rates);
  std::int64_t most = 0;
  for (const DeviceSummary& device : timeline.devices) most = std::max(most, device.peak_memory_bytes);
  if (job.row.data == "megatron-lm-ci") most = timeline.devices.back().peak_memory_bytes;  // the rank that logs
  const auto tensors = static_cast<double>(most);
  if (!job.row.of_driver) return tensors / kBytesPerGib;
  const auto beside = static_cast<double>(rates.context_bytes + rates.library_bytes);
  return (tensors * (1 + rates.memory_reserve) + beside) / kBytesPerGib;
}

std::vector<double> predicted_steps_s(const std::vector<MeasuredJob>& jobs, const KernelRates* rates) {
  std::vector<double> steps(jobs.size());
  tbb::parallel_for(std::size_t{0}, jobs.size(), [&](std::size_t k) {
    const KernelRates own = rates != nullptr ? *rates : kernel_rates_of(jobs[k].cluster.devices.front());
    try {
      steps[k] = predicted_step_s(jobs[k], own);
    } catch (const Error& error) {
      throw Error(jobs[k].row.id + ": " + error.what());
    }
  });
  return steps;
}

}  // namespace plumb
