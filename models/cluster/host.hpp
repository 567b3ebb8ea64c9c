#pragma once

#include "models/cluster/cluster.hpp"

namespace plumb {

/// This machine as a cluster: one node, one device per hardware thread, rates of one thread measured now (about half a
/// second). Compute is a blocked single-precision matrix product as this library was compiled, memory and links are
/// copies of blocks beyond the caches, latency is a hand-over between two threads. Efficiencies are 1, because real
/// code was timed. The figures vary from run to run; save `cluster_to_json` to keep them.
Cluster measure_host();

}  // namespace plumb
