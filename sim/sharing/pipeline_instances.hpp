#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace plumb {

/// How many pipelines of each size there are.
using InstanceCounts = std::vector<std::int32_t>;

/// All ways to use exactly `nodes` nodes with pipelines of `sizes` (ascending, different), by counts of the sizes, the
/// first size's count ascending; `visit` is called for each and returns false to stop.
void for_each_instance(std::int32_t nodes, std::span<const std::int32_t> sizes,
                       const std::function<bool(const InstanceCounts&)>& visit);

/// Microbatches of every pipeline, at least one each and `microbatches` together, so that the longest of all, a
/// pipeline's time per microbatch times their number, is as short as can be. Empty where there are fewer microbatches
/// than pipelines.
std::vector<std::int64_t> shared_microbatches(std::span<const double> time_per_microbatch, std::int64_t microbatches);

}  // namespace plumb
