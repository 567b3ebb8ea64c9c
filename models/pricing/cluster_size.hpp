#pragma once

#include <cstdint>
#include <string>

#include "models/cluster/cluster.hpp"

namespace plumb {

/// "h100-8x8": the built-in cluster `name` with as many whole nodes as `devices` need.
std::string sized_name(const std::string& name, const Cluster& cluster, std::int64_t devices);

/// Returns whether `name` is the plain name of a built-in cluster, which has as many nodes as are asked for.
bool has_any_size(const std::string& name);

/// Throws `Error` where the cluster called `name` has fewer devices than `what` needs, with a cluster that has them.
void check_cluster_size(const Cluster& cluster, std::int64_t devices, const std::string& name, const std::string& what);

}  // namespace plumb
