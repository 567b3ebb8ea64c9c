#pragma once

#include <utility>

#include "models/cluster/cluster.hpp"

namespace plumb::testing {

/// Four devices of one node that take from each other what `contention` says.
inline Cluster contended_machine(Contention contention, double jitter) {
  Cluster cluster;
  cluster.devices.resize(4, {.name = {}, .jitter = jitter});
  cluster.devices_per_node = 4;
  cluster.intra_node = {.latency_ns = 20, .bytes_per_s = 10e9};
  cluster.contention = std::move(contention);
  cluster.finish();
  return cluster;
}

}  // namespace plumb::testing
