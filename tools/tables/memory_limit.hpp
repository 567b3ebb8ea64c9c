#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// The text of `--memory-limit`, understood: stashes or abstract units when costs are abstract, bytes otherwise.
struct MemoryLimit {
  bool in_bytes = false;
  std::optional<double> value;  ///< none: the memory of the cluster's devices, where known
};

/// Throws `Error` when `text` is not empty and no number.
MemoryLimit parse_memory_limit(const std::string& text, const StageCosts& costs);

/// Devices whose peak is above the limit, one line each, all at once: "device 0: does not fit: the peak of ...".
std::vector<std::string> memory_findings(const Timeline& timeline, const MemoryLimit& limit, const Cluster* cluster);

}  // namespace plumb
