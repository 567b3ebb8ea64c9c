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
  std::optional<double> value;  ///< no value: the memory of the cluster's devices, where known
  double stash_share = 1;       ///< which part of 1/p of the model the stash of one stage belongs to
  bool per_device = false;      ///< stashes are of 1/p of the model, not of one stage
};

/// Notes the need and the limit of every device of `timeline` in bytes where they are known, otherwise the limit of
/// stashes, so that pages and documents tell them.
void fill_limits(Timeline& timeline, const MemoryLimit& limit, const Cluster* cluster);

/// One line for each device whose peak is above the limit: "device 0: does not fit: the peak of ...".
std::vector<std::string> memory_findings(const Timeline& timeline, const MemoryLimit& limit, const Cluster* cluster);

}  // namespace plumb
