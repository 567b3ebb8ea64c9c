#pragma once

#include <cstdint>
#include <set>

#include "models/cluster/cluster.hpp"

namespace plumb {

/// Returns the nanoseconds of a ring all-reduce of `bytes` over `devices` in the order of their ids: 2 (n - 1) steps of
/// bytes / n over the slowest hop. 0 for fewer than two.
double ring_all_reduce_ns(const Cluster& cluster, const std::set<DeviceId>& devices, std::int64_t bytes);

}  // namespace plumb
