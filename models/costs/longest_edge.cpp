#include "models/costs/longest_edge.hpp"

#include <algorithm>
#include <cmath>

#include "models/costs/time_limits.hpp"

namespace plumb {

std::int64_t largest_message(const StageCosts& costs) {
  if (costs.message_bytes > 0) return costs.message_bytes;
  std::int64_t bytes = 0;
  for (const StageMemory& stage : costs.memory) {
    bytes = std::max({bytes, stage.message_bytes(false), stage.message_bytes(true)});
  }
  return bytes;
}

Ticks longest_edge(const StageCosts& costs, const Cluster& cluster, std::int32_t num_devices) {
  const auto bytes = static_cast<double>(largest_message(costs));
  double longest_ns = 0;
  for (std::int32_t d = 0; d + 1 < num_devices; ++d) {
    const Route route = cluster.route(DeviceId{d}, DeviceId{d + 1});
    const double sending = route.bytes_per_s > 0 ? bytes / route.bytes_per_s * 1e9 : 0;
    longest_ns = std::max(longest_ns, static_cast<double>(route.latency_ns) + sending);
  }
  return checked_ticks(longest_ns * static_cast<double>(costs.base.ticks_per_ns), "the largest message");
}

}  // namespace plumb
