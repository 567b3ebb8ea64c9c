#include "sim/planners/spans/block_spans.hpp"

#include <algorithm>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"

namespace plumb {

std::int32_t petals_start(std::span<const double> throughput, std::int32_t blocks) {
  const auto length = at(blocks);
  std::vector<double> least;
  std::size_t start = 0;
  for (std::size_t begin = 0; begin + length <= throughput.size(); ++begin) {
    std::vector<double> window(throughput.begin() + static_cast<std::ptrdiff_t>(begin),
                               throughput.begin() + static_cast<std::ptrdiff_t>(begin + length));
    std::ranges::sort(window);
    if (begin > 0 && window >= least) continue;
    least = std::move(window);
    start = begin;
  }
  return static_cast<std::int32_t>(start);
}

Swarm joined_swarm(std::int32_t all, std::span<const std::int32_t> blocks, std::span<const double> speed) {
  Swarm swarm{.spans = {}, .throughput = std::vector<double>(at(all), 0)};
  for (std::size_t server = 0; server < blocks.size(); ++server) {
    const std::int32_t begin = petals_start(swarm.throughput, blocks[server]);
    swarm.spans.push_back({begin, begin + blocks[server]});
    for (std::int32_t block = begin; block < begin + blocks[server]; ++block) {
      swarm.throughput[at(block)] += speed[server];
    }
  }
  return swarm;
}

Swarm swarm_of(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const auto all = static_cast<std::int32_t>(chain.size());
  std::int64_t largest = 1;
  for (std::size_t layer = 0; layer < chain.size(); ++layer) {
    largest = std::max(largest, chain.parameters(layer, layer + 1));
  }
  std::int32_t held = all;
  if (problem.memory_bytes > 0) {
    held = static_cast<std::int32_t>(std::min<std::int64_t>(all, problem.memory_bytes / largest));
  }
  if (held == 0) throw Error("the weights of the largest layer do not fit into the memory of a device");
  std::vector<std::int32_t> blocks;
  std::vector<double> speed;
  const double mean_ns = std::max(1.0, static_cast<double>(chain.forward(0, chain.size())) / all);
  for (std::int32_t device = 0; device < problem.num_devices(); ++device) {
    blocks.push_back(held);
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
