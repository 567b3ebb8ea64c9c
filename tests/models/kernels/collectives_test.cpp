#include "models/kernels/collectives.hpp"

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// Equal but for rounding.
doctest::Approx same_seconds(double value) { return doctest::Approx(value).epsilon(1e-12); }

constexpr LinkRate kLink{.latency_s = 1e-5, .bytes_per_s = 1e9};

}  // namespace

TEST_CASE("a ring all-reduce takes 2 (r-1) latencies and 2 (r-1)/r of the bytes") {
  for (const std::int64_t ranks : {2, 3, 8, 100}) {
    CAPTURE(ranks);
    const auto r = static_cast<double>(ranks);
    CHECK(ring_seconds(CollectiveOp::kAllReduce, ranks, 1e6, kLink) ==
          same_seconds(2 * (r - 1) * 1e-5 + 2 * (r - 1) / r * 1e-3));
    CHECK(ring_seconds(CollectiveOp::kAllGather, ranks, 1e6, kLink) ==
          same_seconds((r - 1) * 1e-5 + (r - 1) / r * 1e-3));
    CHECK(ring_seconds(CollectiveOp::kAllReduce, ranks, 1e6, kLink) ==
          same_seconds(ring_seconds(CollectiveOp::kReduceScatter, ranks, 1e6, kLink) +
                       ring_seconds(CollectiveOp::kAllGather, ranks, 1e6, kLink)));
  }
}

TEST_CASE("trees take logarithmic latency, and all bytes twice") {
  CHECK(tree_seconds(CollectiveOp::kAllReduce, 64, 1e6, kLink) == same_seconds(2 * 6 * 1e-5 + 2e-3));
  CHECK(tree_seconds(CollectiveOp::kBroadcast, 5, 1e6, kLink) == same_seconds(3 * 1e-5 + 1e-3));
}

TEST_CASE("collectives of one rank are free") {
  for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllToAll, CollectiveOp::kBroadcast}) {
    CHECK(ring_seconds(op, 1, 1e9, kLink) == 0);
    CHECK(tree_seconds(op, 1, 1e9, kLink) == 0);
    CHECK(collective_seconds(op, DeviceGroup{.inside = kLink, .between = kLink}, 1e9) == 0);
  }
}

TEST_CASE("over nodes: scatter inside, reduce a share between, gather inside") {
  const DeviceGroup group{.per_node = 8, .nodes = 4, .inside = {1e-6, 1e11}, .between = {1e-5, 1e9}};
  const double bytes = 8e8;
  const double expected = ring_seconds(CollectiveOp::kReduceScatter, 8, bytes, group.inside) +
                          ring_seconds(CollectiveOp::kAllReduce, 4, bytes / 8, group.between) +
                          ring_seconds(CollectiveOp::kAllGather, 8, bytes, group.inside);
  CHECK(collective_seconds(CollectiveOp::kAllReduce, group, bytes) == same_seconds(expected));
}

TEST_CASE("groups lie in nodes by their stride, and share the cards of nodes that have one") {
  const Cluster own = load_cluster("a100-4x8");
  CHECK(device_group(own, 8, 1).nodes == 1);
  CHECK(device_group(own, 4, 8).nodes == 4);
  const DeviceGroup pairs = device_group(own, 8, 4);
  CHECK(pairs.per_node == 2);
  CHECK(pairs.nodes == 4);
  CHECK(pairs.between.bytes_per_s == own.inter_node.bytes_per_s);
  Cluster shared = own;
  shared.inter_node.shared = true;
  CHECK(device_group(shared, 8, 4).between.bytes_per_s == same_seconds(own.inter_node.bytes_per_s / 8));
}

TEST_CASE("a broadcast sends all bytes once, in a ring with a latency per step, in a tree with one per level") {
  for (const std::int64_t ranks : {2, 3, 4, 5, 8, 9}) {
    CAPTURE(ranks);
    CHECK(ring_seconds(CollectiveOp::kBroadcast, ranks, 1e6, kLink) ==
          same_seconds(static_cast<double>(ranks - 1) * 1e-5 + 1e-3));
  }
  CHECK(tree_seconds(CollectiveOp::kBroadcast, 2, 1e6, kLink) == same_seconds(1e-5 + 1e-3));
  CHECK(tree_seconds(CollectiveOp::kBroadcast, 4, 1e6, kLink) == same_seconds(2 * 1e-5 + 1e-3));
  CHECK(tree_seconds(CollectiveOp::kAllGather, 5, 1e6, kLink) == ring_seconds(CollectiveOp::kAllGather, 5, 1e6, kLink));
}

TEST_CASE("a switch that adds up takes every byte once and a part of the sum, and gathers as in a ring") {
  for (const std::int64_t ranks : {2, 4, 8}) {
    CAPTURE(ranks);
    CHECK(switch_seconds(CollectiveOp::kAllReduce, ranks, 1e6, kLink) ==
          same_seconds(2e-5 + (1 + 1.0 / static_cast<double>(ranks)) * 1e-3));
    CHECK(switch_seconds(CollectiveOp::kAllGather, ranks, 1e6, kLink) ==
          ring_seconds(CollectiveOp::kAllGather, ranks, 1e6, kLink));
  }
  CHECK(switch_seconds(CollectiveOp::kAllReduce, 1, 1e6, kLink) == 0);
}

TEST_CASE("inside a node the best of ring, tree and switch is taken") {
  DeviceGroup group{.per_node = 8, .nodes = 1, .inside = kLink, .between = {}};
  const auto all_reduce = CollectiveOp::kAllReduce;
  // Few bytes: latency counts, 2 * 3 levels against 2 * 7 steps. Many: 2 * 7/8 of the bytes against all of them twice.
  CHECK(collective_seconds(all_reduce, group, 1) == same_seconds(2 * 3 * 1e-5).epsilon(1e-3));
  CHECK(collective_seconds(all_reduce, group, 1e9) == same_seconds(14e-5 + 1.75));
  group.switch_reduces = true;
  CHECK(collective_seconds(all_reduce, group, 1e9) == same_seconds(2e-5 + 1.125));
  CHECK(collective_seconds(CollectiveOp::kAllGather, group, 1e9) == same_seconds(7e-5 + 0.875));
}

TEST_CASE("in an all-to-all a rank sends a part to every other one, inside and between nodes at once") {
  DeviceGroup group{.per_node = 4, .nodes = 3, .inside = {1e-6, 1e9}, .between = {1e-5, 1e8}};
  // 12 ranks: 3 parts of a twelfth stay in the node, 8 leave it.
  CHECK(collective_seconds(CollectiveOp::kAllToAll, group, 12e6) == same_seconds(8e-5 + 8e6 / 1e8));
  group.between.bytes_per_s = 1e12;
  CHECK(collective_seconds(CollectiveOp::kAllToAll, group, 12e9) == same_seconds(3e-6 + 3e9 / 1e9));
  group.between = {0, 0};  // a link without a rate is free
  group.inside = {0, 0};
  CHECK(collective_seconds(CollectiveOp::kAllToAll, group, 12e9) == 0);
}

TEST_CASE("over nodes a broadcast goes down a tree of nodes and then of devices, a gather shares the bytes") {
  const DeviceGroup group{.per_node = 8, .nodes = 4, .inside = {1e-6, 1e11}, .between = {1e-5, 1e9}};
  CHECK(collective_seconds(CollectiveOp::kBroadcast, group, 1e9) == same_seconds(2 * 1e-5 + 1.0 + 3 * 1e-6 + 0.01));
  CHECK(collective_seconds(CollectiveOp::kAllGather, group, 8e9) ==
        same_seconds(3 * 1e-5 + 0.75 * 1e9 / 1e9 + 7 * 1e-6 + 7e9 / 1e11));
  CHECK(collective_seconds(CollectiveOp::kReduceScatter, group, 8e9) ==
        collective_seconds(CollectiveOp::kAllGather, group, 8e9));
  const DeviceGroup alone{.per_node = 1, .nodes = 2, .inside = {}, .between = {1e-5, 1e9}};
  CHECK(collective_seconds(CollectiveOp::kAllGather, alone, 1e9) == same_seconds(1e-5 + 0.5));
}

TEST_CASE("a group whose stride is a node or more has one device per node, and the last node may be half empty") {
  Cluster cluster = load_cluster("a100-4x8");
  CHECK(device_group(cluster, 3, 16).per_node == 1);
  CHECK(device_group(cluster, 3, 16).nodes == 3);
  CHECK(device_group(cluster, 3, 0).per_node == 3);  // as neighbours
  CHECK(device_group(cluster, 12, 1).per_node == 8);
  CHECK(device_group(cluster, 12, 1).nodes == 2);
  CHECK(device_group(cluster, 1, 1).size() == 1);
  CHECK(device_group(cluster, 8, 1).inside.latency_s ==
        same_seconds(1e-9 * static_cast<double>(cluster.intra_node.latency_ns)));
  cluster.intra_node.shared = true;
  CHECK(device_group(cluster, 8, 1).inside.bytes_per_s == same_seconds(cluster.intra_node.bytes_per_s / 8));
  cluster.devices_per_node = 0;  // not known: every device is a node of its own
  CHECK(device_group(cluster, 4, 1).nodes == 4);
}

}  // namespace plumb

TEST_SUITE_END();
