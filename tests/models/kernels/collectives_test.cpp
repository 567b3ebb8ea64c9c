#include "models/kernels/collectives.hpp"

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

constexpr LinkRate kLink{.latency_s = 1e-5, .bytes_per_s = 1e9};

}  // namespace

TEST_CASE("a ring all-reduce takes 2 (r-1) latencies and 2 (r-1)/r of the bytes") {
  for (const std::int64_t ranks : {2, 3, 8, 100}) {
    CAPTURE(ranks);
    const auto r = static_cast<double>(ranks);
    CHECK(ring_seconds(CollectiveOp::kAllReduce, ranks, 1e6, kLink) ==
          doctest::Approx(2 * (r - 1) * 1e-5 + 2 * (r - 1) / r * 1e-3));
    CHECK(ring_seconds(CollectiveOp::kAllGather, ranks, 1e6, kLink) ==
          doctest::Approx((r - 1) * 1e-5 + (r - 1) / r * 1e-3));
    CHECK(ring_seconds(CollectiveOp::kAllReduce, ranks, 1e6, kLink) ==
          doctest::Approx(ring_seconds(CollectiveOp::kReduceScatter, ranks, 1e6, kLink) +
                          ring_seconds(CollectiveOp::kAllGather, ranks, 1e6, kLink)));
  }
}

TEST_CASE("trees take logarithmic latency, and all bytes twice") {
  CHECK(tree_seconds(CollectiveOp::kAllReduce, 64, 1e6, kLink) == doctest::Approx(2 * 6 * 1e-5 + 2e-3));
  CHECK(tree_seconds(CollectiveOp::kBroadcast, 5, 1e6, kLink) == doctest::Approx(3 * 1e-5 + 1e-3));
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
  CHECK(collective_seconds(CollectiveOp::kAllReduce, group, bytes) == doctest::Approx(expected));
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
  CHECK(device_group(shared, 8, 4).between.bytes_per_s == doctest::Approx(own.inter_node.bytes_per_s / 8));
}

}  // namespace plumb

TEST_SUITE_END();
