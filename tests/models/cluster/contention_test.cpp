#include "models/cluster/contention.hpp"

#include <doctest/doctest.h>

#include <string>

#include "models/cluster/cluster_io.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;

namespace {

std::string cluster_with(const std::string& contention) {
  return R"({"format": "plumbline-cluster", "version": 1, "name": "c", "nodes": 1, "devices_per_node": 2,
 "device": {"flops_per_s": 1e12, "memory_bytes_per_s": 1e12},
 "intra_node": {"latency_ns": 1, "bytes_per_s": 1e9, "shared": true, "shared_bytes_per_s": 3e9},
 "contention": )" +
         contention + "}";
}

std::string contention_refusal(const std::string& contention) {
  return testing::error_message([&] { cluster_from_json(cluster_with(contention), "c.json"); });
}

}  // namespace

TEST_CASE("a cluster's contention survives reading and writing") {
  const Cluster cluster = cluster_from_json(cluster_with(R"({
    "slowdown": [{"of": ["F", "B"], "by": ["F", "F+B", "message"], "gamma": [0.01, 0.025]}],
    "theft": {"message": 0.015, "collective": 0.1},
    "clock": {"per": "device", "load": {"F": 1, "message": 0.5}, "points": [[1, 1], [8, 0.9]], "period_ns": 100,
              "gain": 0.5}})"),
                                            "c.json");
  const Contention& contention = cluster.contention;
  REQUIRE(contention.slowdowns.size() == 1);
  CHECK(contention.slowdowns[0].of == (set_of(Load::kF) | set_of(Load::kB)));
  CHECK(contention.slowdowns[0].by == (set_of(Load::kF) | set_of(Load::kPair) | set_of(Load::kMessage)));
  CHECK(contention.slowdowns[0].gamma == std::vector<double>{0.01, 0.025});
  CHECK(contention.message_slowdown == 0.015);
  REQUIRE(contention.clock.has_value());
  CHECK(contention.clock->points[1].clock == 0.9);
  CHECK(cluster_from_json(cluster_to_json(cluster), "again.json").contention == contention);
  CHECK(cluster_from_json(cluster_to_json(cluster), "again.json").intra_node == cluster.intra_node);
  CHECK(cluster.shared_links[0].bytes_per_s == 3e9);
  CHECK(load_cluster("a100").contention.empty());
}

TEST_CASE("a mistake in a cluster's contention is one line with its place") {
  CHECK(contention_refusal(R"({"slowdown": [{"of": "message", "by": "F", "gamma": [1]}]})") ==
        "c.json:4:37: contention.slowdown[0].of: expected one of F, B, I, W, R, U, X, F+B, found \"message\"");
  CHECK(contention_refusal(R"({"slowdown": [{"of": ["F", "F"], "by": "F", "gamma": [1]}]})") ==
        "c.json:4:43: contention.slowdown[0].of[1]: is named twice, expected each load once");
  CHECK(contention_refusal(R"({"slowdown": [{"of": "F", "by": "F", "gamma": []}]})") ==
        "c.json:4:62: contention.slowdown[0].gamma: expected 1 to 65536 numbers");
  CHECK(contention_refusal(R"({"slowdown": [{"of": "F", "by": "F", "gamma": [-0.1]}]})").find("gamma[0]: expected") !=
        std::string::npos);
  CHECK(contention_refusal(R"({"theft": {"message": 1}})").find("theft.message: expected") != std::string::npos);
  CHECK(contention_refusal(R"({"clock": {"load": {}, "points": [[1, 1], [1, 0.5]]}})")
            .find("points[1][0]: expected a load above the one before") != std::string::npos);
  CHECK(contention_refusal(R"({"clock": {"per": "rack", "load": {}, "points": [[1, 1]]}})")
            .find("expected \"node\" or \"device\", found \"rack\"") != std::string::npos);
  CHECK(contention_refusal(R"({"slow": []})").find("slowdown") != std::string::npos);
}

TEST_SUITE_END();
