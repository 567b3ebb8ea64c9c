#include <set>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/costs/check_costs.hpp"
#include "models/costs/longest_edge.hpp"
#include "models/costs/ring_all_reduce.hpp"
#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// Equal but for rounding.
doctest::Approx to_the_ns(double value) { return doctest::Approx(value).epsilon(1e-12); }

/// Two nodes of two devices: 1 GB/s and 1000 ns inside, 0.5 GB/s and 5000 ns between.
Cluster two_nodes() {
  return cluster_from_json(
      R"({"format": "plumbline-cluster", "version": 1, "name": "c",
          "device": {"name": "d", "flops_per_s": 1e12, "memory_bytes": 1000000, "memory_bytes_per_s": 1e9},
          "nodes": 2, "devices_per_node": 2,
          "intra_node": {"latency_ns": 1000, "bytes_per_s": 1e9}, "inter_node": {"latency_ns": 5000, "bytes_per_s": 5e8}})",
      "c.json");
}

}  // namespace

TEST_CASE("a ring over devices takes 2 (n - 1) steps of a share over its slowest hop") {
  const Cluster cluster = two_nodes();
  CHECK(ring_all_reduce_ns(cluster, {DeviceId{0}}, 1000) == 0);
  CHECK(ring_all_reduce_ns(cluster, {}, 1000) == 0);
  // Inside a node: 2 steps of 500 bytes, 500 ns each besides 1000.
  CHECK(ring_all_reduce_ns(cluster, {DeviceId{0}, DeviceId{1}}, 1000) == to_the_ns(2 * (1000 + 500)));
  // Over both nodes, three devices: 4 steps of 1000 bytes, 2000 ns each besides 5000. The ring closes between nodes.
  CHECK(ring_all_reduce_ns(cluster, {DeviceId{0}, DeviceId{1}, DeviceId{2}}, 3000) == to_the_ns(4 * (5000 + 2000)));
  CHECK(ring_all_reduce_ns(cluster, {DeviceId{1}, DeviceId{2}, DeviceId{3}}, 3000) == to_the_ns(4 * (5000 + 2000)));
}

TEST_CASE("the longest edge is the largest message over the slowest link between neighbours") {
  const Cluster cluster = two_nodes();
  StageCosts costs;
  costs.base.ticks_per_ns = 1;
  costs.message_bytes = 1000;
  CHECK(largest_message(costs) == 1000);
  CHECK(longest_edge(costs, cluster, 1) == 0);  // no neighbours
  CHECK(longest_edge(costs, cluster, 2) == 1000 + 1000);
  CHECK(longest_edge(costs, cluster, 3) == 5000 + 2000);
  CHECK(longest_edge(costs, cluster, 4) == 5000 + 2000);
  costs.base.ticks_per_ns = 3;
  CHECK(longest_edge(costs, cluster, 2) == 6000);
  costs.message_bytes = 0;
  costs.memory.resize(2);
  CHECK(largest_message(costs) == 0);
  CHECK(longest_edge(costs, cluster, 2) == 3000);
}

TEST_CASE("a cost of a stage is between nothing and 104 days, and the message names stage and time") {
  StageCosts costs;
  costs.times.resize(3);
  costs.comm = 0;
  const auto told = [&] { return testing::error_message([&] { check_costs(costs); }); };
  CHECK(told() == "");
  const auto refused = [&](Ticks& cost, const std::string& name) {
    CAPTURE(name);
    cost = kMostCost;
    CHECK(told() == "");
    cost = kMostCost + 1;
    CHECK(told() == "costs: " + name + " is " + std::to_string(kMostCost + 1) + " ticks; expected at most " +
                        std::to_string(kMostCost) + " (104 days at a tick per ns)");
    cost = -1;
    CHECK(told() == "costs: " + name + " is -1 ticks; expected at least 0");
    cost = 0;
  };
  StageTimes& last = costs.times[2];
  refused(last.f, "F of stage 2");
  refused(costs.times[0].u, "U of stage 0");
  refused(last.all_reduce, "AR of stage 2");
  refused(last.b_comm.all, "B.comm of stage 2");
  refused(last.w_comm.shown, "W.comm of stage 2");
  refused(last.pairs.ticks.front(), "FF of stage 2");
  refused(last.pairs.ticks.back(), "RR of stage 2");
  refused(*costs.comm, "comm of stage 0");
}

TEST_CASE("what takes too long says so in words") {
  CHECK(checked_ticks(2.5, "x") == 3);
  CHECK(checked_ticks(static_cast<double>(kMostCost), "x") == kMostCost);
  const auto told = [](Ticks most) {
    return testing::error_message([&] { checked_ticks(2.0 * static_cast<double>(most), "x", most); });
  };
  CHECK(told(kMostCost).find("104 days") != std::string::npos);
  CHECK(told(kMostLayerTime).find("73 minutes") != std::string::npos);
}

}  // namespace plumb

TEST_SUITE_END();
