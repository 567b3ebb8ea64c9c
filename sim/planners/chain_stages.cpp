#include "sim/planners/chain_stages.hpp"

#include "models/stages/partition.hpp"

namespace plumb {

PlanStage chain_stage(const LayerChain& chain, std::size_t begin, std::size_t end, std::int32_t replicas) {
  PlanStage stage;
  stage.replicas = replicas;
  stage.layers.assign(chain.node.begin() + static_cast<std::ptrdiff_t>(begin),
                      chain.node.begin() + static_cast<std::ptrdiff_t>(end));
  return stage;
}

std::vector<std::size_t> balanced_bounds(const LayerChain& chain, std::int32_t stages) {
  std::vector<std::int64_t> costs;
  for (std::size_t k = 0; k < chain.size(); ++k) costs.push_back(chain.total(k, k + 1));
  return balanced_partition(costs, stages).bounds;
}

double ring_ns(double bytes, std::int32_t devices, double bytes_per_s) {
  return devices == 1 ? 0 : 2e9 * bytes * (devices - 1) / devices / bytes_per_s;
}

PipelineStages pipeline_of(const LayerChain& chain, const std::vector<std::size_t>& bounds, const PlanProblem& problem,
                           std::int32_t replicas, bool recompute) {
  PipelineStages pipeline;
  for (std::size_t s = 0; s + 1 < bounds.size(); ++s) {
    if (s > 0) {
      const double transfer =
          1e9 * static_cast<double>(chain.cut_bytes[bounds[s]]) / problem.bytes_per_s_between(problem.num_devices());
      pipeline.stages.push_back({transfer, transfer, 0});
    }
    const auto forward = static_cast<double>(chain.forward(bounds[s], bounds[s + 1]));
    const auto backward = static_cast<double>(chain.backward(bounds[s], bounds[s + 1]));
    const double reduce = ring_ns(static_cast<double>(chain.parameters(bounds[s], bounds[s + 1])), replicas,
                                  problem.bytes_per_s_between(problem.num_devices()));
    pipeline.stages.push_back({forward, backward + (recompute ? forward : 0), reduce});
  }
  return pipeline;
}

}  // namespace plumb
