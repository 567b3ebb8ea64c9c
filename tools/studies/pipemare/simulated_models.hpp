#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plumb {

/// A schedule in slots or flushed, as the models of the PipeMare study compare them.
struct ModelCase {
  std::string schedule;
  std::int32_t stages = 0;
  std::int64_t microbatches = 0;
  std::map<std::string, std::string> options = {};
};

/// Share of all device time that is useful, over whole steady periods; forward and backward take equally long.
double simulated_utilization(const ModelCase& of);

/// Bytes of weights, versions, gradients and optimizer state of all stages at their peaks. `parameters` by stage, four
/// bytes each; `copies`: weight, gradient and state of the optimizer (SGD with momentum 3).
std::int64_t simulated_weight_memory(const ModelCase& of, const std::vector<std::int64_t>& parameters,
                                     std::int64_t copies);

/// Stashes of one stage and microbatch that the fullest device keeps at its peak.
double simulated_most_activations(const ModelCase& of);

/// Stashes of one stage and microbatch that all stages keep at their peaks.
double simulated_activations(const ModelCase& of);

}  // namespace plumb
