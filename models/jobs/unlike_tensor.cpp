#include "models/jobs/unlike_tensor.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "models/jobs/job_places.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

using CostsByDegree = std::map<std::int64_t, JobCosts>;

/// What devices of a kind have in common.
using DeviceKind = std::tuple<double, double, double, std::int64_t>;

DeviceKind kind_of(const DeviceSpec& device) {
  return {device.flops_per_s * device.compute_efficiency, device.memory_bytes_per_s * device.memory_efficiency,
          device.speed, device.memory_bytes};
}

std::vector<DeviceKind> kinds_of(const Cluster& cluster) {
  std::vector<DeviceKind> kinds;
  for (const DeviceSpec& device : cluster.devices) {
    if (std::ranges::find(kinds, kind_of(device)) == kinds.end()) kinds.push_back(kind_of(device));
  }
  return kinds;
}

/// Returns the degree by whose parts the values between two places are counted.
std::int64_t degree_between(const Cluster& pipeline, const Parallelism& job, std::int32_t here, std::int32_t there) {
  const bool near = pipeline.node_of(here) == pipeline.node_of(there);
  const bool shared = near ? pipeline.intra_node.shared : pipeline.inter_node.shared;
  if (shared) return tensor_degrees(job).front();
  return std::min(job.tensor_of(here), job.tensor_of(there));
}

void set_messages(const Parallelism& job, std::span<const std::int32_t> place_of, const CostsByDegree& known,
                  JobCosts& costs) {
  for (std::size_t s = 0; s + 1 < place_of.size(); ++s) {
    if (place_of[s] == place_of[s + 1]) continue;
    const std::int64_t degree = degree_between(costs.pipeline, job, place_of[s], place_of[s + 1]);
    const std::vector<StageMemory>& between = known.at(degree).costs.memory;
    costs.costs.memory[s].sent_output_bytes = between[s].output_bytes;
    costs.costs.memory[s + 1].sent_input_grad_bytes = between[s + 1].input_grad_bytes;
  }
}

void set_tied(const Parallelism& job, std::span<const std::int32_t> place_of, const CostsByDegree& known,
              JobCosts& costs) {
  for (std::size_t k = 0; k < costs.costs.tied.size(); ++k) {
    TiedWeight& tied = costs.costs.tied[k];
    const std::int64_t fewer =
        std::min(job.tensor_of(place_of[index(tied.first)]), job.tensor_of(place_of[index(tied.second)]));
    tied.bytes = known.at(fewer).costs.tied[k].bytes;
  }
}

void check_choices(const Parallelism& job, const Partition& partition, const StageChoices& choices) {
  const std::string where = "parallelism: unlike tensor degrees: ";
  StageChoices others = choices;
  others.places.clear();
  if (others != StageChoices{} || job.recompute == ActivationRecompute::kFitted || job.zero_by_layer ||
      job.offload_by_stage) {
    throw Error(where + "expected no choices of single stages beside them");
  }
  if (job.expert > 1) throw Error(where + "expected an expert degree of 1, found " + std::to_string(job.expert));
  if (choices.places.size() != partition.num_stages()) {
    throw Error(where + "expected the place of each of the " + std::to_string(partition.num_stages()) +
                " stages, found " + std::to_string(choices.places.size()));
  }
  for (const std::int32_t place : choices.places) {
    if (place >= 0 && place < std::ssize(job.tensor_by_place)) continue;
    throw Error(where + "stages stand on pipeline rank " + std::to_string(place) + ", expected fewer than the " +
                std::to_string(job.tensor_by_place.size()) + " degrees");
  }
}

/// Returns the mean peak of a place, over all its devices.
double mean_peak(const Cluster& cluster, const Parallelism& job) {
  double devices = 0;
  for (const std::int32_t tensor : job.tensor_by_place) devices += static_cast<double>(tensor * job.context * job.data);
  return cluster.devices.front().flops_per_s * devices / static_cast<double>(job.tensor_by_place.size());
}

}  // namespace

Parallelism with_tensor(Parallelism job, std::int64_t tensor) {
  job.tensor = tensor;
  job.tensor_by_place.clear();
  if (tensor == 1) job.sequence_parallel = job.overlap_products = false;
  return job;
}

Parallelism with_tensor_by_place(Parallelism job, std::vector<std::int32_t> by_place) {
  const std::int32_t most = std::ranges::max(by_place);
  job = with_tensor(std::move(job), most);
  if (std::ranges::min(by_place) < most) job.tensor_by_place = std::move(by_place);
  return job;
}

std::vector<std::int64_t> tensor_degrees(const Parallelism& job) {
  if (!job.has_unlike_tensor()) return {job.tensor};
  std::vector<std::int64_t> degrees(job.tensor_by_place.begin(), job.tensor_by_place.end());
  std::ranges::sort(degrees);
  degrees.erase(std::unique(degrees.begin(), degrees.end()), degrees.end());
  return degrees;
}

std::size_t count_device_kinds(const Cluster& cluster) { return kinds_of(cluster).size(); }

Parallelism divided_by_kind(const Cluster& cluster, Parallelism job, std::span<const std::int32_t> by_kind) {
  const std::vector<DeviceKind> kinds = kinds_of(cluster);
  const auto degree_at = [&](std::int64_t device) {
    const DeviceKind kind = kind_of(cluster.devices[static_cast<std::size_t>(device)]);
    return by_kind[static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin())];
  };
  job.tensor_by_place.clear();
  for (std::int64_t next = 0; next < std::ssize(cluster.devices);) {
    job.tensor_by_place.push_back(degree_at(next));
    const auto places = static_cast<std::int32_t>(job.tensor_by_place.size());
    const auto last = [&] { return place_devices(cluster, job, places).back(); };
    if (last().first < std::ssize(cluster.devices)) job.tensor_by_place.back() = degree_at(last().first);
    next = last().end();
    if (next > std::ssize(cluster.devices)) job.tensor_by_place.pop_back();
  }
  if (job.tensor_by_place.empty()) return job;
  return with_tensor_by_place(job, job.tensor_by_place);
}

JobCosts unlike_job_costs(const Cluster& cluster, const Parallelism& job, const Partition& partition,
                          const StageChoices& choices, const std::function<JobCosts(std::int64_t tensor)>& costs_of) {
  check_choices(job, partition, choices);
  const std::vector<std::int32_t>& place_of = choices.places;
  CostsByDegree known;
  for (const std::int64_t degree : tensor_degrees(job)) known.emplace(degree, costs_of(degree));
  const auto places = static_cast<std::int32_t>(job.tensor_by_place.size());
  check_devices(cluster, job, places);
  JobCosts costs = known.at(job.tensor);
  costs.pipeline = pipeline_of(cluster, job, places);
  costs.least = nullptr;
  for (std::size_t s = 0; s < place_of.size(); ++s) {
    const JobCosts& own = known.at(job.tensor_of(place_of[s]));
    costs.costs.times[s] = own.costs.times[s];
    costs.costs.memory[s] = own.costs.memory[s];
    costs.updates[s] = own.updates[s];
    const LayerRange range = partition.range(s);
    for (std::size_t layer = range.begin; layer < range.end; ++layer) {
      costs.costs.layer_forward[layer] = own.costs.layer_forward[layer];
    }
  }
  set_messages(job, place_of, known, costs);
  set_tied(job, place_of, known, costs);
  costs.costs.work.peak_flops_per_s = mean_peak(cluster, job);
  estimate_host_copies(costs.costs, costs.pipeline);
  return costs;
}

JobCosts unlike_job_costs(const Network& network, const Partition& partition, const JobMachine& machine,
                          const Parallelism& job, const StageChoices& choices) {
  const JobMachine one_place{machine.cluster, 1, machine.rates};
  return unlike_job_costs(machine.cluster, job, partition, choices, [&](std::int64_t tensor) {
    return JobPrices(network, one_place, with_tensor(job, tensor)).stages(partition, machine.places);
  });
}

}  // namespace plumb
