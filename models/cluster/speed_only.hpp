#pragma once

#include "models/cluster/cluster.hpp"

namespace plumb {

/// `cluster` with devices that differ in speed only, as rooflines and published planners want them: each has the rates
/// of the first one and is faster or slower by its FLOP/s that kernels reach. Memory and prices stay.
Cluster with_speeds_only(Cluster cluster);

}  // namespace plumb
