#include "sim/planners/shares/peer_clusters.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "models/graphs/layer_chain.hpp"
#include "sim/planners/planner.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

std::vector<Peer> random_peers(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  std::vector<Peer> peers;
  for (std::size_t k = 0; k < count; ++k) {
    peers.push_back(
        {.memory = 1024 * std::int64_t{4 << random() % 3}, .bandwidth = static_cast<std::int64_t>(1 + random() % 10)});
  }
  return peers;
}

bool uses_all(const std::vector<std::int32_t>& cluster, std::int32_t clusters) {
  for (std::int32_t c = 0; c < clusters; ++c) {
    if (std::ranges::find(cluster, c) == cluster.end()) return false;
  }
  return true;
}

std::int64_t least_penalty(const std::vector<Peer>& peers, std::int32_t clusters, std::int64_t model) {
  std::int64_t least = -1;
  std::vector<std::int32_t> cluster(peers.size(), 0);
  while (true) {
    if (uses_all(cluster, clusters)) {
      const std::int64_t penalty = cluster_penalty(peers, cluster, clusters, model);
      if (least < 0 || penalty < least) least = penalty;
    }
    std::size_t at = 0;
    while (at < cluster.size() && ++cluster[at] == clusters) cluster[at++] = 0;
    if (at == cluster.size()) return least;
  }
}

}  // namespace

TEST_CASE("the penalty of clusters is that of Ravnest's released program") {
  // By its calculate_fitness: memory 12288 and 8192, model 10000: 1808 are missing; sums 819 + 409 and 1638.
  const std::vector<Peer> peers{{8192, 10}, {4096, 10}, {8192, 5}};
  CHECK(cluster_penalty(peers, {0, 0, 1}, 2, 10000) == 100 * 1808 + 1638 - 1228);
  CHECK(cluster_penalty(peers, {0, 0, 0}, 1, 10000) == 0);
}

TEST_CASE("few peers are in the best of all clusters") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    for (const std::int32_t clusters : {2, 3}) {
      CAPTURE(seed);
      CAPTURE(clusters);
      const std::vector<Peer> peers = random_peers(seed, 7);
      for (const std::int64_t model : {8192, 20480}) {
        const PeerClusters found = genetic_clusters(peers, clusters, model, 1);
        CHECK(uses_all(found.cluster, clusters));
        CHECK(found.penalty == cluster_penalty(peers, found.cluster, clusters, model));
        CHECK(found.penalty == least_penalty(peers, clusters, model));
      }
    }
  }
}

TEST_CASE("many peers are in no worse clusters than the greedy ones and the best of 20000 random ones") {
  std::mt19937 random(7);
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const std::vector<Peer> peers = random_peers(seed, 24);
    const PeerClusters found = genetic_clusters(peers, 4, 40960, 1);
    CHECK(found.penalty <= greedy_clusters(peers, 4, 40960).penalty);
    std::int64_t best = found.penalty + 1;
    for (int k = 0; k < 20'000; ++k) {
      std::vector<std::int32_t> cluster(peers.size());
      for (std::int32_t& of : cluster) of = static_cast<std::int32_t>(random() % 4);
      if (uses_all(cluster, 4)) best = std::min(best, cluster_penalty(peers, cluster, 4, 40960));
    }
    CHECK(found.penalty <= best);
    CHECK(genetic_clusters(peers, 4, 40960, 1).cluster == found.cluster);
  }
}

TEST_CASE("a model is split in whole percent of the memories, by the largest remainders") {
  CHECK(split_by_memory(1000, {8, 8, 8}) == std::vector<std::int64_t>{340, 330, 330});
  CHECK(split_by_memory(999, {4, 12}) == std::vector<std::int64_t>{250, 749});
  CHECK(split_by_memory(7, {1, 1}) == std::vector<std::int64_t>{4, 3});
}

TEST_CASE("ravnest's plan is the pipeline of its slowest cluster, and every device is in a cluster") {
  PlanProblem problem = flat_problem(random_layers(1, 9), 6);
  problem.options = {{"ram", "8-8-8-8-16-16"}, {"bandwidth", "10-10-10-10-10-10"}, {"clusters", "2"}};
  const Plan plan = make_plan(find_planner("ravnest"), problem);
  CHECK(plan.pipelines == 2);
  CHECK(plan.stages.size() == 3);
  REQUIRE(plan.remarks.size() == 1);
  CHECK(plan.remarks.front().ends_with("penalty 0"));
  problem.options["ram"] = "8-8";
  CHECK(error_message([&] { make_plan(find_planner("ravnest"), problem); }) ==
        "option ram: expected a whole number from 1 to 1000000 for each of the 6 devices, such as 8-8-16, found '8-8'");
}

TEST_CASE(
    "in a cluster of ravnest stages end at the layers nearest to the peers' parts, and take compute and one transfer") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 9), 4, 2e9);
    problem.speed = {1, 0.5, 1, 0.25};
    problem.options = {{"ram", "8-16-8-32"}, {"clusters", "1"}};
    const LayerChain chain = chain_of(problem.network.layers);
    const auto bytes_until = [&](std::size_t end) { return 4 * chain.parameters(0, end) + chain.activations(0, end); };
    const std::vector<std::int64_t> parts = split_by_memory(bytes_until(9), {8192, 16384, 8192, 32768});
    const Plan plan = make_plan(find_planner("ravnest"), problem);
    REQUIRE(plan.stages.size() == 4);
    CHECK(plan.pipelines == 1);
    std::size_t begin = 0;
    std::int64_t wanted = 0;
    double slowest = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      CHECK(plan.stages[k].devices == std::vector<std::int32_t>{static_cast<std::int32_t>(k)});
      const std::size_t end = begin + plan.stages[k].layers.size();
      wanted += parts[k];
      // No other end that leaves the peers behind it a layer each is nearer.
      for (std::size_t other = begin + 1; other + 3 - k <= 9 && k < 3; ++other) {
        CHECK(std::abs(bytes_until(end) - wanted) <= std::abs(bytes_until(other) - wanted));
      }
      const double load = static_cast<double>(chain.total(begin, end)) / problem.speed[k] +
                          static_cast<double>(chain.cut_bytes[begin]);  // 2 GB/s, both ways
      CHECK(plan.stages[k].load_ns == doctest::Approx(load).epsilon(1e-12));
      slowest = std::max(slowest, load);
      begin = end;
    }
    CHECK(begin == 9);
    CHECK(plan.claimed_ns == doctest::Approx(slowest).epsilon(1e-12));
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
