#include "tools/options/plan_arguments.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/cluster/cluster_io.hpp"
#include "models/cluster/speed_only.hpp"
#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/jobs/job_costs.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostDevices = 1 << 16;

/// "4x8" as {8, 4}; "16" as {16}.
std::vector<MachineLevel> levels_from(const std::string& devices, const std::string& bandwidth) {
  const std::vector<std::string> counts = split(devices, 'x');
  if (counts.empty() || counts.size() > 2) throw Error("--devices: expected a number, or NODESxDEVICES such as 4x8");
  std::vector<MachineLevel> levels;
  std::int64_t product = 1;
  for (std::size_t k = counts.size(); k-- > 0;) {
    const std::int64_t count = parse_whole(counts[k], {1, kMostDevices}, "plan: --devices");
    product *= count;
    levels.push_back({static_cast<std::int32_t>(count), 0});
  }
  if (product > kMostDevices) throw Error("--devices: expected at most " + std::to_string(kMostDevices) + " in all");
  const std::vector<std::string> rates = split(bandwidth, ',');
  if (rates.size() != levels.size() && !(rates.empty() && product == 1)) {
    throw Error("--bandwidth: expected " +
                std::string(levels.size() == 1 ? "one rate" : "two rates, inside a node and between nodes,") +
                " in bytes/s for --devices " + devices);
  }
  for (std::size_t k = 0; k < rates.size(); ++k) levels[k].bytes_per_s = parse_real(rates[k], "plan: --bandwidth");
  return levels;
}

/// Every layer a stage.
Partition one_by_one(const Network& network) {
  Partition partition;
  partition.bounds.resize(network.layers.size() + 1);
  std::iota(partition.bounds.begin(), partition.bounds.end(), std::size_t{0});
  return partition;
}

PublishedNetwork own_network(const PlanArguments& arguments, const std::optional<Cluster>& cluster) {
  const Network network = network_argument(arguments.network);
  if (!cluster) throw Error("plan: '" + arguments.network + "' has no measured times, expected --cluster");
  const Parallelism alone{.microbatch_size = arguments.samples.value_or(0)};
  return {PublishedFormat::kGraphText,
          graph_of(network, job_costs(network, one_by_one(network), {*cluster}, alone).costs)};
}

PublishedNetwork network_from(const PlanArguments& arguments, const std::optional<Cluster>& cluster) {
  if (arguments.network.empty()) throw Error("plan: the network is missing, expected --network NAME|FILE");
  if (!is_document_path(arguments.network)) return own_network(arguments, cluster);
  std::optional<PublishedNetwork> published = load_published(arguments.network);
  if (!published) return own_network(arguments, cluster);
  if (arguments.samples)
    throw Error("plan: --samples: '" + arguments.network +
                "' was measured with a batch size of its own, expected no --samples");
  return std::move(*published);
}

void take_cluster(const Cluster& cluster, PlanProblem& problem) {
  problem.levels = levels_of(cluster);
  for (const DeviceSpec& device : cluster.devices) {
    problem.speed.push_back(device.speed);
    problem.memory_by_device.push_back(device.memory_bytes);
  }
  problem.memory_bytes = std::ranges::min(problem.memory_by_device);
  const auto alike = [](const auto& values, auto usual) {
    return std::ranges::all_of(values, [usual](auto value) { return value == usual; });
  };
  if (alike(problem.speed, 1.0)) problem.speed.clear();
  if (alike(problem.memory_by_device, problem.memory_bytes)) problem.memory_by_device.clear();
}

/// What the publisher planned for, where the format says so.
void take_defaults(PlanProblem& problem) {
  if (const auto& variants = problem.network.variants) {
    problem.levels = {{variants->devices, variants->bytes_per_s}};
    problem.memory_bytes = static_cast<std::int64_t>(variants->device_bytes);
    problem.microbatches = variants->microbatches;
  } else if (const auto& placement = problem.network.placement) {
    // Transfers have costs of their own there; no bandwidth is known.
    problem.levels = {{placement->accelerators, 1e9}};
    problem.memory_bytes = placement->accelerator_bytes;
  } else {
    throw Error("plan: the devices are missing, expected --cluster NAME|FILE, or --devices N with --bandwidth RATE");
  }
}

}  // namespace

void PlanArguments::add_to(OptionTable& parser) {
  parser.group("Problem")
      .text("network", network, "N",
            "a built-in network, a network document, or a file in the format of PipeDream, DAPPLE, dnn-partitioning or "
            "Piper")
      .text("cluster", cluster, "C", "a built-in cluster, or a cluster document")
      .text("devices", devices, "N", "instead of a cluster: a number of devices, or NODESxDEVICES such as 4x8")
      .text("bandwidth", bandwidth, "RATE", "bytes/s between the devices, or inside a node and between nodes: 12e9,1e9")
      .text("speed", speeds, "LIST", "speed of each device relative to the measured one: 1,1,0.5,0.5")
      .text("memory-limit", memory, "SIZE", "memory of a device, such as 16GiB (default: as in the cluster)")
      .whole("microbatches,m", microbatches, {1, 1 << 24}, "microbatches per update (default: as in the file, or 8)")
      .whole("samples", samples, {1, 1 << 20}, "samples per microbatch, for built-in networks and network documents")
      .texts("opt", options, "KEY=VALUE", "option of the planner, see `plumbline plan --list`");
}

PlanProblem plan_problem(const PlanArguments& arguments) {
  std::optional<Cluster> cluster;
  if (!arguments.cluster.empty()) {
    if (!arguments.devices.empty()) throw Error("plan: --cluster and --devices cannot be combined");
    cluster = with_speeds_only(load_cluster(arguments.cluster));
  }
  PlanProblem problem;
  problem.network = network_from(arguments, cluster);
  if (cluster) {
    take_cluster(*cluster, problem);
  } else if (!arguments.devices.empty()) {
    problem.levels = levels_from(arguments.devices, arguments.bandwidth);
    if (problem.network.variants) problem.microbatches = problem.network.variants->microbatches;
  } else {
    take_defaults(problem);
  }
  if (!arguments.speeds.empty()) {
    problem.speed.clear();
    for (const std::string& speed : split(arguments.speeds, ',')) {
      problem.speed.push_back(parse_real(speed, "plan: --speed"));
      if (!(problem.speed.back() > 0)) throw Error("plan: --speed: expected numbers above 0");
    }
  }
  if (!arguments.memory.empty()) {
    problem.memory_bytes = parse_bytes(arguments.memory, "plan: --memory-limit");
    problem.memory_by_device.clear();
  }
  if (arguments.microbatches) problem.microbatches = *arguments.microbatches;
  for (const std::string& option : arguments.options) {
    const auto [key, value] = parse_assignment(option, "plan: --opt");
    problem.options[key] = value;
  }
  return problem;
}

}  // namespace plumb
