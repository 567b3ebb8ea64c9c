#include "sim/planners/spans/swarm_of_devices.hpp"

#include <algorithm>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"

namespace plumb {
namespace {

/// Layers whose weights fit into the memory of a device, at least one.
std::int64_t blocks_in_memory(const PlanProblem& problem, const LayerChain& chain) {
  const auto all = static_cast<std::int64_t>(chain.size());
  if (problem.memory_bytes == 0 || problem.options.contains("blocks")) return all;
  std::int64_t largest = 1;
  for (std::size_t layer = 0; layer < chain.size(); ++layer) {
    largest = std::max(largest, chain.parameters(layer, layer + 1));
  }
  const std::int64_t held = std::min(all, problem.memory_bytes / largest);
  if (held == 0) throw Error("the weights of the largest layer do not fit into the memory of a device");
  return held;
}

}  // namespace

Swarm swarm_of(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const auto all = static_cast<std::int32_t>(chain.size());
  const std::vector<std::int64_t> given = problem.number_of_each("blocks", blocks_in_memory(problem, chain), all);
  const std::vector<std::int32_t> blocks(given.begin(), given.end());
  std::vector<double> speed;
  const double mean_ns = std::max(1.0, static_cast<double>(chain.forward(0, chain.size())) / all);
  for (std::int32_t device = 0; device < problem.num_devices(); ++device) {
    speed.push_back(1e9 / mean_ns * problem.speed_of(device));
  }
  return joined_swarm(all, blocks, speed);
}

std::vector<PlanStage> stages_of_swarm(const PlanProblem& problem, const Swarm& swarm) {
  const LayerChain chain = chain_of(problem.network.layers);
  std::vector<PlanStage> stages;
  for (std::size_t device = 0; device < swarm.spans.size(); ++device) {
    const BlockSpan& span = swarm.spans[device];
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
