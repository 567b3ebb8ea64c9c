#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// What a device may hold at most: stashes or abstract units when costs are abstract, bytes otherwise.
struct MemoryLimit {
  bool in_bytes = false;
  std::optional<double> value;  ///< none: the memory of the cluster's devices, where known
};

/// Devices whose peak is above the limit, one line each, all at once: "device 0: does not fit: the peak of ...".
std::vector<std::string> memory_findings(const Timeline& timeline, const MemoryLimit& limit, const Cluster* cluster);

}  // namespace plumb
