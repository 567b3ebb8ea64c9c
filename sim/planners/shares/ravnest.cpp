#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"
#include "sim/planners/shares/peer_clusters.hpp"

namespace plumb {
namespace {

constexpr std::array kRavnestPlanOptions{
    NamedOption{"clusters", count_form("N", 1, kMostPlannerNumber), "as many as memory has room for", "clusters"},
    NamedOption{"ram", list_form("N-N-..."), "the memory limit", "GiB of memory of every device"},
    NamedOption{"bandwidth", list_form("N-N-..."), "alike", "bandwidth of every device, relative to the others"}};

constexpr std::int64_t kMostRavnestClusters = 5;  ///< of the released program
constexpr std::int64_t kRavnestMib = std::int64_t{1} << 20;
constexpr std::int64_t kMostRavnestNumber = 1'000'000;

/// Where peers with these memories cut the chain: as near to their parts of its bytes as layers allow, one at least.
std::vector<std::size_t> cut_by_memory(const LayerChain& chain, const std::vector<std::int64_t>& bytes_before,
                                       const std::vector<std::int64_t>& memory) {
  if (memory.size() > chain.size()) {
    throw Error("ravnest: a cluster of " + std::to_string(memory.size()) + " peers, expected at most the " +
                std::to_string(chain.size()) + " layers");
  }
  const std::vector<std::int64_t> parts = split_by_memory(bytes_before.back(), memory);
  std::vector<std::size_t> bounds{0};
  std::int64_t wanted = 0;
  for (std::size_t k = 0; k + 1 < parts.size(); ++k) {
    wanted += parts[k];
    auto at = static_cast<std::size_t>(std::ranges::lower_bound(bytes_before, wanted) - bytes_before.begin());
    if (at > 0 && at < bytes_before.size() && wanted - bytes_before[at - 1] < bytes_before[at] - wanted) --at;
    bounds.push_back(std::clamp(at, bounds.back() + 1, chain.size() - (parts.size() - 1 - k)));
  }
  bounds.push_back(chain.size());
  return bounds;
}

/// The pipeline of one cluster.
Plan pipeline_of_cluster(const PlanProblem& problem, const LayerChain& chain, const std::vector<std::size_t>& bounds,
                         const std::vector<std::int32_t>& devices) {
  Plan plan;
  const double rate = problem.levels.back().bytes_per_s;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    PlanStage stage = chain_stage(chain, bounds[k], bounds[k + 1], 1);
    const double sent = bounds[k] == 0 ? 0 : 2e9 * static_cast<double>(chain.cut_bytes[bounds[k]]) / rate;
    stage.load_ns = static_cast<double>(chain.total(bounds[k], bounds[k + 1])) / problem.speed_of(devices[k]) + sent;
    stage.devices = {devices[k]};
    plan.claimed_ns = std::max(plan.claimed_ns, stage.load_ns);
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

std::string text_of(const std::vector<std::int32_t>& devices) {
  std::string text;
  for (const std::int32_t device : devices) text += (text.empty() ? "" : " ") + std::to_string(device);
  return text;
}

/// Before every layer: bytes of states and kept outputs.
std::vector<std::int64_t> bytes_before_layers(const LayerChain& chain) {
  std::vector<std::int64_t> before{0};
  for (std::size_t layer = 0; layer < chain.size(); ++layer) {
    const double states = kStateCopies * static_cast<double>(chain.parameters(layer, layer + 1));
    before.push_back(before.back() + static_cast<std::int64_t>(states) + chain.activations(layer, layer + 1));
  }
  return before;
}

/// In MiB of memory; without any limit each could hold the whole model.
std::vector<Peer> peers_of(const PlanProblem& problem, std::int64_t model) {
  const std::int64_t limit = std::max<std::int64_t>(1, problem.memory_bytes / kRavnestMib);
  const std::vector<std::int64_t> gib = problem.number_of_each("ram", 0, kMostRavnestNumber);
  const std::vector<std::int64_t> bandwidth = problem.number_of_each("bandwidth", 1, kMostRavnestNumber);
  std::vector<Peer> peers;
  for (std::size_t device = 0; device < gib.size(); ++device) {
    const std::int64_t usual = problem.memory_bytes > 0 ? limit : model;
    peers.push_back({.memory = gib[device] > 0 ? gib[device] * 1024 : usual, .bandwidth = bandwidth[device]});
  }
  return peers;
}

/// As is asked for; otherwise one, or as many as memory has room for.
std::int32_t number_of_clusters(const PlanProblem& problem, const std::vector<Peer>& peers, std::int64_t model) {
  const OptionReader options(kRavnestPlanOptions, problem.options);
  std::int64_t together = 0;
  for (const Peer& peer : peers) together += peer.memory;
  const std::int64_t most = std::min<std::int64_t>(problem.num_devices(), kMostRavnestClusters);
  const bool known = problem.memory_bytes > 0 || options.has("ram");
  const std::int64_t usual = known ? std::clamp<std::int64_t>(together / model, 1, most) : 1;
  const double wanted = options.number("clusters", static_cast<double>(usual));
  if (!(wanted >= 1 && wanted <= problem.num_devices())) {
    throw Error("option clusters: expected 1 to " + std::to_string(problem.num_devices()) + " clusters");
  }
  return static_cast<std::int32_t>(wanted);
}

/// Ravnest (Menon et al., arXiv 2401.01728, and its released program): unlike peers in clusters that each hold the
/// whole model, made by a genetic search so that clusters have memory enough and are alike in their sums of memory over
/// bandwidth; in a cluster every peer holds a part of the layers in proportion to its memory. Clusters train apart and
/// average their weights. The plan is that of the cluster with the slowest stage.
Plan plan_ravnest(const PlanProblem& problem) {
  problem.stop.check();
  const LayerChain chain = chain_of(problem.network.layers);
  const std::vector<std::int64_t> bytes_before = bytes_before_layers(chain);
  const std::int64_t model = bytes_before.back() / kRavnestMib + 1;
  const std::vector<Peer> peers = peers_of(problem, model);
  const std::int32_t clusters = number_of_clusters(problem, peers, model);
  const PeerClusters found = genetic_clusters(peers, clusters, model, 1, [&] { problem.stop.check(); });
  Plan slowest;
  bool alike = true;
  std::string text = "clusters of devices:";
  for (std::int32_t c = 0; c < clusters; ++c) {
    std::vector<std::int32_t> devices;
    std::vector<std::int64_t> held;
    for (std::size_t peer = 0; peer < peers.size(); ++peer) {
      if (found.cluster[peer] != c) continue;
      devices.push_back(static_cast<std::int32_t>(peer));
      held.push_back(peers[peer].memory);
    }
    text += (c == 0 ? " " : "; ") + text_of(devices);
    alike = alike && devices.size() * static_cast<std::size_t>(clusters) == peers.size();
    Plan plan = pipeline_of_cluster(problem, chain, cut_by_memory(chain, bytes_before, held), devices);
    if (plan.claimed_ns > slowest.claimed_ns) slowest = std::move(plan);
  }
  if (alike) slowest.pipelines = clusters;
  slowest.microbatches = problem.microbatches;
  slowest.penalty = found.penalty;
  slowest.remarks.push_back(text + "; penalty " + std::to_string(found.penalty));
  return slowest;
}

}  // namespace

Planner ravnest_planner() {
  return {.name = "ravnest",
          .paper = "Menon et al., arXiv 2401.01728",
          .year = 2024,
          .minimises = "memory that clusters miss, and how unlike they are in memory over bandwidth",
          .options = kRavnestPlanOptions,
          .uncertain =
              "the number of clusters is given, not found; layers are cut as near to shares of memory as "
              "they allow; the cost is the slowest stage of the slowest cluster",
          .asked_up_to = {.layers = 0, .devices = 0},
          .plan = plan_ravnest};
}

}  // namespace plumb
