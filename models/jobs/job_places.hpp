#pragma once

#include <cstdint>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/jobs/parallelism.hpp"

namespace plumb {

/// Neighbouring devices of a cluster that make up a place of a pipeline.
struct PlaceDevices {
  std::int64_t first = 0;
  std::int64_t count = 1;

  std::int64_t end() const { return first + count; }
};

/// Lists the devices of so many places, one after another in the cluster. Where places have unlike numbers of devices,
/// none begins in a node and ends in another one as long as it fits into a node: it begins the next node then.
std::vector<PlaceDevices> place_devices(const Cluster& cluster, const Parallelism& job, std::int32_t places);

/// Returns the devices of so many places of a pipeline, each as slow as the slowest of its ranks, with the links
/// between neighbours: consecutive devices of `cluster` make up a place. Of places with unlike numbers of ranks, what
/// ranks of a node share between nodes is divided as among those of the smallest place, and the way to the host as
/// among those of the largest one. Throws `Error` for such places where devices of a node slow each other down
/// (`Contention`).
Cluster pipeline_of(const Cluster& cluster, const Parallelism& job, std::int32_t places);

/// Throws `Error` where `cluster` has fewer devices than so many places of the job take, or the job fewer tensor
/// degrees.
void check_devices(const Cluster& cluster, const Parallelism& job, std::int32_t places);

}  // namespace plumb
