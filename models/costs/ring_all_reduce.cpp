#include "models/costs/ring_all_reduce.hpp"

#include <algorithm>
#include <iterator>

namespace plumb {

double ring_all_reduce_ns(const Cluster& cluster, const std::set<DeviceId>& devices, std::int64_t bytes) {
  if (devices.size() < 2) return 0;
  double slowest_ns = 0;
  for (auto from = devices.begin(); from != devices.end(); ++from) {
    const auto to = std::next(from) == devices.end() ? devices.begin() : std::next(from);
    const Route route = cluster.route(*from, *to);
    const double part = static_cast<double>(bytes) / static_cast<double>(devices.size());
    const double sending_ns = route.bytes_per_s > 0 ? part / route.bytes_per_s * 1e9 : 0;
    slowest_ns = std::max(slowest_ns, static_cast<double>(route.latency_ns) + sending_ns);
  }
  const double steps = 2.0 * static_cast<double>(devices.size() - 1);
  return steps * slowest_ns;
}

}  // namespace plumb
