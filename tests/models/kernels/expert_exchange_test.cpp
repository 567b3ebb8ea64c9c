#include "models/kernels/expert_exchange.hpp"

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// 4 ranks on 2 nodes, links of 1 byte/s inside and 1/2 byte/s between.
DeviceGroup two_by_two() { return {.per_node = 2, .nodes = 2, .inside = {0, 1}, .between = {0, 0.5}}; }

}  // namespace

TEST_CASE("every copy of a token crosses by itself in an all-to-all") {
  // 8 bytes of tokens, 3 copies: 24 bytes evenly to 4 ranks, of which one is the sender itself.
  const ExchangeBytes bytes =
      exchange_bytes({.bytes = 8, .copies = 3, .experts = 8, .dispatcher = Dispatcher::kAllToAll}, two_by_two());
  CHECK(bytes.inside == doctest::Approx(6));
  CHECK(bytes.between == doctest::Approx(12));
}

TEST_CASE("a token crosses to a node once, however many of its experts live there") {
  // 8 experts, 4 on each node, 2 on each rank; a token takes 2 of them.
  // A node is missed by C(4,2) of C(8,2) pairs: 6/28; a rank by C(6,2): 15/28.
  const ExchangeBytes bytes =
      exchange_bytes({.bytes = 8, .copies = 2, .experts = 8, .dispatcher = Dispatcher::kOncePerNode}, two_by_two());
  CHECK(bytes.between == doctest::Approx(8 * 2 * (1 - 6.0 / 28) * 1 / 2));
  CHECK(bytes.inside == doctest::Approx(8 * 4 * (1 - 15.0 / 28) * 1 / 2));
}

TEST_CASE("with an expert per rank a token takes as many ranks as copies") {
  const DeviceGroup node{.per_node = 8, .nodes = 1, .inside = {0, 1}, .between = {}};
  const ExchangeBytes bytes =
      exchange_bytes({.bytes = 8, .copies = 3, .experts = 8, .dispatcher = Dispatcher::kOncePerNode}, node);
  CHECK(bytes.inside == doctest::Approx(8 * 3 * 7.0 / 8));
  CHECK(bytes.between == 0);
}

TEST_CASE("tokens that take all experts reach every node once") {
  const ExchangeBytes bytes =
      exchange_bytes({.bytes = 8, .copies = 8, .experts = 8, .dispatcher = Dispatcher::kOncePerNode}, two_by_two());
  CHECK(bytes.between == doctest::Approx(8));
  const ExchangeBytes all =
      exchange_bytes({.bytes = 8, .copies = 8, .experts = 8, .dispatcher = Dispatcher::kAllToAll}, two_by_two());
  CHECK(all.between == doctest::Approx(32));
}

TEST_CASE("messages inside and between nodes travel at once, and one rank sends none") {
  const ExpertExchange exchange{.bytes = 8, .copies = 3, .experts = 8, .dispatcher = Dispatcher::kAllToAll};
  CHECK(exchange_seconds(exchange, two_by_two()) == doctest::Approx(24));  // 12 bytes at 1/2 byte/s
  CHECK(exchange_seconds(exchange, {.per_node = 1, .nodes = 1, .inside = {}, .between = {}}) == 0);
}

TEST_CASE("expert ranks are taken from tensor and data ranks inside a node first") {
  const Cluster cluster = load_cluster("h100-4x8");
  // Megatron's folding: 8 expert ranks of whole experts are ranks 0 to 7, one node, whatever the tensor degree is.
  const DeviceGroup folded = device_group(cluster, 8, 1);
  CHECK(folded.per_node == 8);
  CHECK(folded.nodes == 1);
  // With experts divided over 2 tensor ranks, they are every second rank: 4 on each of 2 nodes.
  const DeviceGroup divided = device_group(cluster, 8, 2);
  CHECK(divided.per_node == 4);
  CHECK(divided.nodes == 2);
}

TEST_CASE(
    "an exchange takes the longer of what stays in a node and what leaves it, and nothing where there is no such way") {
  const ExpertExchange exchange{.bytes = 8, .copies = 3, .experts = 8, .dispatcher = Dispatcher::kAllToAll};
  const auto takes = [&](std::int64_t per_node, std::int64_t nodes, double inside, double between) {
    return exchange_seconds(exchange,
                            {.per_node = per_node, .nodes = nodes, .inside = {0, inside}, .between = {0, between}});
  };
  CHECK(takes(2, 2, 1, 2) == doctest::Approx(6));  // 6 bytes inside, 12 between
  CHECK(takes(2, 2, 6, 2) == doctest::Approx(6));
  CHECK(takes(2, 2, 6, 3) == doctest::Approx(4));
  CHECK(takes(4, 1, 100, 1) == doctest::Approx(0.18));
  CHECK(takes(1, 4, 1, 100) == doctest::Approx(0.18));
  CHECK(takes(1, 1, 1, 1) == 0);
  CHECK(takes(2, 1, 1, 1) == doctest::Approx(12));
}

}  // namespace plumb

TEST_SUITE_END();
