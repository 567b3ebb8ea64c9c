#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumb {

/// A part of the network on a group of devices.
struct PlanStage {
  std::vector<std::int32_t> layers;   ///< nodes of the layer graph, ascending; those that load data are left out
  std::int32_t replicas = 1;          ///< data-parallel copies inside the pipeline
  std::int32_t tensor_degree = 1;     ///< devices that share each copy
  bool recompute = false;             ///< keeps its input only
  bool on_cpu = false;                ///< dnn-partitioning places some work there
  std::vector<std::int32_t> devices;  ///< which; empty when the planner only counts them
  double load_ns = 0;                 ///< by the planner's own formula

  std::int32_t num_devices() const { return replicas * tensor_degree; }
  friend bool operator==(const PlanStage&, const PlanStage&) = default;
};

/// The answer of a planner.
struct Plan {
  std::vector<PlanStage> stages;        ///< in the order of the pipeline
  std::int32_t pipelines = 1;           ///< copies of the whole pipeline (width)
  std::int64_t microbatches = 1;        ///< per pipeline and update that the formula counted with
  std::int64_t microbatch_samples = 0;  ///< chosen size; 0: that of the profile
  std::vector<std::int64_t>
      shares;                 ///< of `microbatches`, by holder of the only stage, where they are unlike; or empty
  double claimed_ns = 0;      ///< what the planner minimises, by its own formula
  double lower_bound_ns = 0;  ///< nothing costs less by that formula; equal to `claimed_ns`: proved optimal
  std::int64_t states = 0;    ///< of the search: cut points or sets of layers
  std::vector<std::string> remarks;
  std::int64_t instances = 0;  ///< ways to use a number of nodes with pipelines of several lengths; 0: not asked
  std::int64_t penalty = 0;    ///< of clusters of peers, which their search makes small

  std::int32_t num_devices() const {
    std::int32_t sum = 0;
    for (const PlanStage& stage : stages) sum += stage.on_cpu ? 0 : stage.num_devices();
    return sum * pipelines;
  }
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace plumb
