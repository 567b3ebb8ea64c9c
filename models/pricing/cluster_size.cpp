#include "models/pricing/cluster_size.hpp"

#include <algorithm>
#include <string_view>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"

namespace plumb {

std::string sized_name(const std::string& name, const Cluster& cluster, std::int64_t devices) {
  const std::int64_t per_node = std::max(1, cluster.devices_per_node);
  return name + "-" + std::to_string((devices + per_node - 1) / per_node) + "x" + std::to_string(per_node);
}

bool has_any_size(const std::string& name) {
  return std::ranges::any_of(builtin_clusters(),
                             [&](std::string_view known) { return plain_name(known) == plain_name(name); });
}

void check_cluster_size(const Cluster& cluster, std::int64_t devices, const std::string& name,
                        const std::string& what) {
  if (std::ssize(cluster.devices) >= devices) return;
  const std::string hint =
      has_any_size(name) ? "--cluster " + sized_name(name, cluster, devices) : "a document with more nodes";
  throw Error("--cluster: " + name + " has " + std::to_string(cluster.devices.size()) + " devices, " + what +
              " needs " + std::to_string(devices) + "; expected " + hint);
}

}  // namespace plumb
