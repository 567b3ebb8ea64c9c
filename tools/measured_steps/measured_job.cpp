#include "tools/measured_steps/measured_job.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/stages/partition.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/simulate.hpp"

namespace plumb {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Whole layers dealt out by FLOPs, in which a head of V words is V / (12 width) layers: the last stage gets what it
/// can take beside its head, the rest is dealt out evenly, more of it to later stages. (So do the measured times of
/// stages of the redistributed runs.)
Partition redistributed_partition(const MeasuredStep& row) {
  const double head = static_cast<double>(row.vocabulary) / (12.0 * static_cast<double>(row.hidden));
  const auto stages = static_cast<double>(row.pipeline);
  const double most = std::ceil((static_cast<double>(row.layers) + head) / stages);
  const auto last = static_cast<std::int64_t>(std::max(0.0, std::round(most - head)));
  const std::int64_t others = row.pipeline - 1;
  const std::int64_t each = (row.layers - last) / others;
  const std::int64_t longer = (row.layers - last) % others;
  Partition partition{{0}};
  std::size_t at = 1;  // the embedding; a layer is two: attention and MLP
  for (std::int64_t stage = 0; stage < others; ++stage) {
    at += static_cast<std::size_t>(2 * (each + (stage >= others - longer ? 1 : 0)));
    partition.bounds.push_back(at);
  }
  partition.bounds.push_back(at + static_cast<std::size_t>(2 * last) + 2);  // the last norm and the head
  return partition;
}

/// Layers as the source deals them out.
Partition step_partition(const MeasuredJob& job, std::int32_t stages) {
  return has(job.row.schedule, "redistributed") ? redistributed_partition(job.row)
                                                : equal_partition(job.network, stages);
}

/// The schedule that its source names.
Schedule step_schedule(const MeasuredStep& row, const JobCosts& costs) {
  ScheduleParams params;
  params.num_devices = static_cast<std::int32_t>(row.pipeline);
  params.num_microbatches = row.num_microbatches;
  if (row.chunks > 1) {
    params.chunks = static_cast<std::int32_t>(row.chunks);
    return generate("interleaved", params);
  }
  if (!row.schedule.starts_with("ZB-")) return generate("1f1b", params);
  StageCosts searched = costs.costs;
  searched.comm = 0;
  params.costs = [searched](std::int32_t) { return searched; };
  return generate(has(row.schedule, "2p") ? "zb-2p" : "zb-1p", params);
}

}  // namespace

std::optional<Cluster> step_cluster(const MeasuredStep& row) {
  std::string name;
  if (row.data == "vtrain") {
    name = "vtrain";
  } else if (row.gpu.starts_with("A100") && !has(row.gpu, "PCIe")) {
    name = row.data == "megatron-papers" ? "megatron" : "a100";
  } else if (row.gpu == "H100") {
    name = "h100";
  } else if (row.gpu == "B200") {
    name = "b200";
  }
  if (name.empty() || row.num_gpus < 1) return std::nullopt;
  const std::int64_t per_node = std::min<std::int64_t>(8, row.num_gpus);
  const std::int64_t nodes = (row.num_gpus + per_node - 1) / per_node;
  return load_cluster(name + "-" + std::to_string(nodes) + "x" + std::to_string(per_node));
}

JobCosts measured_job_costs(const MeasuredJob& job, const KernelRates& rates) {
  const auto places = static_cast<std::int32_t>(job.row.pipeline);
  const auto stages = static_cast<std::int32_t>(job.row.pipeline * std::max<std::int64_t>(1, job.row.chunks));
  const JobMachine machine{job.cluster, places, rates};
  return job_costs(job.network, step_partition(job, stages), machine, job.parallelism);
}

double predicted_step_s(const MeasuredJob& job, const KernelRates& rates) {
  const JobCosts costs = measured_job_costs(job, rates);
  const Schedule schedule = step_schedule(job.row, costs);
  const Timeline timeline = simulate_summary(schedule, costs.costs, &costs.pipeline);
  return static_cast<double>(to_ns(timeline.step_time, timeline.base)) * 1e-9;
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
