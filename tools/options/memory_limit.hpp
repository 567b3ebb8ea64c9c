#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// The value of `--memory-limit`: in stashes or abstract units when costs are abstract, in bytes otherwise.
struct MemoryLimit {
  bool in_bytes = false;
  std::optional<double> value;  ///< no value: the memory of the cluster's devices, where known
};

/// Throws `Error` when `text` is neither empty nor a number.
MemoryLimit parse_memory_limit(const std::string& text, const StageCosts& costs);

/// One line for each device whose peak is above the limit: "device 0: does not fit: the peak of ...".
std::vector<std::string> memory_findings(const Timeline& timeline, const MemoryLimit& limit, const Cluster* cluster);

}  // namespace plumb
