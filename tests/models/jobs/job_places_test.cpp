#include "models/jobs/job_places.hpp"

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// Two nodes of eight devices, whose ways out, inside and to the host are shared.
Cluster shared_nodes() {
  Cluster cluster = load_cluster("a100-2x8");
  cluster.inter_node.shared = cluster.intra_node.shared = true;
  cluster.inter_node.bytes_per_s = 24e9;
  cluster.intra_node.bytes_per_s = 240e9;
  cluster.host_link = {.latency_ns = 0, .bytes_per_s = 20e9, .devices_per_link = 4, .host_bytes_per_s = 80e9};
  return cluster;
}

}  // namespace

TEST_CASE("ranks of a place send at the same time over what they share, at most as many as a node has") {
  const Cluster cluster = shared_nodes();
  const auto pipeline = [&](std::int64_t ranks) {
    return pipeline_of(cluster, {.tensor = ranks}, 16 / static_cast<std::int32_t>(ranks));
  };
  for (const std::int64_t ranks : {1, 2, 4, 8, 16}) {
    CAPTURE(ranks);
    const double users = static_cast<double>(std::min<std::int64_t>(ranks, 8));
    const Cluster places = pipeline(ranks);
    CHECK(places.inter_node.bytes_per_s == 24e9 / users);
    CHECK(places.intra_node.bytes_per_s == 240e9 / users);
    CHECK(places.host_link.host_bytes_per_s == 80e9 / users);
    // Four neighbours share a way to the host.
    const std::int64_t sharing = std::min<std::int64_t>(ranks, 4);
    CHECK(places.host_link.bytes_per_s == 20e9 / static_cast<double>(sharing));
    CHECK(places.host_link.devices_per_link == 4 / sharing);
  }
  CHECK(pipeline(2).devices_per_node == 4);
  CHECK(pipeline(8).devices_per_node == 1);
  CHECK(pipeline(16).devices_per_node == 1);
  Cluster own = cluster;
  own.inter_node.shared = own.intra_node.shared = false;
  CHECK(pipeline_of(own, {.tensor = 4}, 4).inter_node.bytes_per_s == 24e9);
  CHECK(pipeline_of(own, {.tensor = 4}, 4).intra_node.bytes_per_s == 240e9);
}

TEST_CASE("a place is as slow as its slowest rank and has the memory of the smallest") {
  Cluster cluster = shared_nodes();
  cluster.devices[1].speed = 0.5;
  cluster.devices[2].memory_bytes = 1000;
  cluster.devices[5].flops_per_s /= 4;
  const Cluster places = pipeline_of(cluster, {.tensor = 2}, 4);
  CHECK(places.devices[0].speed == 0.5);
  CHECK(places.devices[0].memory_bytes == cluster.devices[0].memory_bytes);
  CHECK(places.devices[1].speed == 1);
  CHECK(places.devices[1].memory_bytes == 1000);
  CHECK(places.devices[2].speed == 0.25);
  CHECK(places.devices[3].speed == 1);
}

TEST_CASE("places are one behind another, and a job that takes more devices than there are is refused") {
  const Cluster cluster = shared_nodes();
  const std::vector<PlaceDevices> places = place_devices(cluster, {.tensor = 2, .context = 2, .data = 2}, 2);
  CHECK(places[0].first == 0);
  CHECK(places[0].end() == 8);
  CHECK(places[1].first == 8);
  CHECK(places[1].end() == 16);
  CHECK_NOTHROW(check_devices(cluster, {.tensor = 4}, 4));
  CHECK(testing::error_message([&] { check_devices(cluster, {.tensor = 4}, 5); }) ==
        "cluster 'a100-2x8': has 16 devices, expected at least 20: 5 pipeline ranks of tensor x context x data = 4");
}

}  // namespace plumb

TEST_SUITE_END();
