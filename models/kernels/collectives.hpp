#pragma once

#include <cstdint>

#include "models/cluster/cluster.hpp"

namespace plumb {

/// A message of n bytes takes `latency_s + n / bytes_per_s` (alpha-beta model).
struct LinkRate {
  double latency_s = 0;
  double bytes_per_s = 0;  ///< 0: no limit

  double seconds(double bytes) const { return latency_s + (bytes_per_s > 0 ? bytes / bytes_per_s : 0); }
};

enum class CollectiveOp : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast };

/// Returns the seconds of a collective over `ranks` devices with one link each, every rank taking part with `bytes`:
/// those that are reduced, that all have in the end (all-gather), that each had (reduce-scatter), that each sends in
/// all (all-to-all). One rank: 0.
///
///     ring     all-reduce 2 (r-1) a + 2 (r-1)/r n/B;  gather, scatter, all-to-all (r-1) a + (r-1)/r n/B
///     tree     all-reduce 2 log2(r) a + 2 n/B;  broadcast log2(r) a + n/B  (double binary tree, pipelined)
double ring_seconds(CollectiveOp op, std::int64_t ranks, double bytes, const LinkRate& link);
double tree_seconds(CollectiveOp op, std::int64_t ranks, double bytes, const LinkRate& link);

/// All-reduce by a switch that adds up and hands on (NVLink SHARP): every device sends all its bytes and its part of
/// the sum, 2 a + (1 + 1/r) n/B. Other collectives: as in a ring.
double switch_seconds(CollectiveOp op, std::int64_t ranks, double bytes, const LinkRate& link);

/// Devices that work on one collective: `per_node` on each of `nodes` nodes. Rates are those of one device while all
/// groups of the job that use the same links do the same.
struct DeviceGroup {
  std::int64_t per_node = 1;
  std::int64_t nodes = 1;
  LinkRate inside;
  LinkRate between;
  bool switch_reduces = false;  ///< the switch inside a node adds up

  std::int64_t size() const { return per_node * nodes; }
};

/// `size` devices of `cluster`, every `stride`-th rank. Where nodes share one card, its bandwidth is divided over the
/// devices of the node; a shared bus inside a node as well.
DeviceGroup device_group(const Cluster& cluster, std::int64_t size, std::int64_t stride);

/// Returns the seconds of a collective of `group`, by the best of ring, tree and switch; over several nodes in steps:
/// scatter inside, reduce between, gather inside (every device has 1/per_node of the bytes between nodes).
double collective_seconds(CollectiveOp op, const DeviceGroup& group, double bytes);

}  // namespace plumb
