#pragma once

#include <cstdint>

#include "models/cluster/cluster.hpp"
#include "models/jobs/parallelism.hpp"

namespace plumb {

/// The devices of so many places of a pipeline, each as slow as the slowest of its ranks, with the links between
/// neighbours: consecutive devices of `cluster` make up a place.
Cluster pipeline_of(const Cluster& cluster, const Parallelism& job, std::int32_t places);

/// Throws `Error` where `cluster` has fewer devices than so many places of the job take.
void check_devices(const Cluster& cluster, const Parallelism& job, std::int32_t places);

}  // namespace plumb
