#include "sim/planners/spans/swarm_of_devices.hpp"

#include <algorithm>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"

namespace plumb {
namespace {

/// Numbers of layers that are tried, of a network with more of them.
constexpr std::size_t kMostLengths = 128;

/// What the heaviest l neighbouring layers weigh, for l from 1 to all of them. Which numbers of layers these are
/// depends on the network alone, so that with more memory there are the same ones and more.
std::vector<std::int64_t> heaviest_windows(const LayerChain& chain) {
  std::vector<std::int64_t> weights;
  const std::size_t lengths = std::min(chain.size(), kMostLengths);
  for (std::size_t number = 1; number <= lengths; ++number) {
    const std::size_t length = std::max<std::size_t>(1, chain.size() * number / lengths);
    std::int64_t heaviest = 0;
    for (std::size_t end = length; end <= chain.size(); ++end) {
      heaviest = std::max(heaviest, chain.parameters(end - length, end));
    }
    weights.push_back(heaviest);
  }
  return weights;
}

/// Up to which layer a device holds those from each on that together weigh at most `bytes`.
std::vector<std::int32_t> ends_of_spans(const LayerChain& chain, std::int64_t bytes) {
  std::vector<std::int32_t> ends;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < chain.size(); ++begin) {
    end = std::max(begin, end);
    while (end < chain.size() && chain.parameters(begin, end + 1) <= bytes) ++end;
    ends.push_back(static_cast<std::int32_t>(end));
  }
  return ends;
}

/// The largest of `weights` that fits into `memory`; all of the memory where none does.
std::int64_t usable_bytes(const std::vector<std::int64_t>& weights, std::int64_t memory) {
  if (memory == 0) return weights.back();
  std::int64_t usable = memory;
  for (const std::int64_t weight : weights) {
    if (weight <= memory) usable = weight;
  }
  return usable;
}

}  // namespace

std::vector<Swarm> swarms_of(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const auto all = static_cast<std::int32_t>(chain.size());
  const double mean_ns = std::max(1.0, static_cast<double>(chain.forward(0, chain.size())) / all);
  std::vector<double> speed;
  for (std::int32_t device = 0; device < problem.num_devices(); ++device) {
    speed.push_back(1e9 / mean_ns * problem.speed_of(device));
  }
  if (OptionReader(kDeviceBlocksTable, problem.options).has("blocks")) {
    const std::vector<std::int64_t> given = problem.number_of_each("blocks", all, all);
    return {joined_swarm(all, std::vector<std::int32_t>(given.begin(), given.end()), speed)};
  }
  const std::vector<std::int64_t> weights = heaviest_windows(chain);
  std::vector<std::int64_t> usable;
  for (std::int32_t device = 0; device < problem.num_devices(); ++device) {
    usable.push_back(usable_bytes(weights, problem.memory_of(device)));
  }
  const std::int64_t most = *std::ranges::max_element(usable);
  if (most < weights.front()) throw Error("the weights of the largest layer do not fit into the memory of a device");
  std::vector<Swarm> swarms;
  // Where every device holds everything, no other way gives more.
  const bool all_fits = *std::ranges::min_element(usable) >= weights.back();
  for (const std::int64_t bytes : all_fits ? std::vector{weights.back()} : weights) {
    problem.stop.check();
    if (bytes > most) break;
    std::vector<std::vector<std::int32_t>> ends;
    for (const std::int64_t own : usable) ends.push_back(ends_of_spans(chain, std::min(own, bytes)));
    swarms.push_back(joined_swarm(ends, speed));
  }
  return swarms;
}

std::vector<PlanStage> stages_of_swarm(const PlanProblem& problem, const Swarm& swarm) {
  const LayerChain chain = chain_of(problem.network.layers);
  std::vector<PlanStage> stages;
  for (std::size_t device = 0; device < swarm.spans.size(); ++device) {
    const BlockSpan& span = swarm.spans[device];
    if (span.length() == 0) continue;  // no layer fits into its memory
    const auto id = static_cast<std::int32_t>(device);
    const auto same = std::ranges::find_if(stages, [&](const PlanStage& stage) {
      return stage.layers.front() == chain.node[at(span.begin)] && stage.layers.back() == chain.node[at(span.end - 1)];
    });
    if (same != stages.end()) {
      ++same->replicas;
      same->devices.push_back(id);
      continue;
    }
    PlanStage stage;
    for (std::int32_t block = span.begin; block < span.end; ++block) stage.layers.push_back(chain.node[at(block)]);
    stage.devices = {id};
    stage.load_ns = static_cast<double>(chain.forward(at(span.begin), at(span.end))) / problem.speed_of(id);
    stages.push_back(std::move(stage));
  }
  std::ranges::stable_sort(stages, {}, [](const PlanStage& stage) { return stage.layers.front(); });
  return stages;
}

}  // namespace plumb
