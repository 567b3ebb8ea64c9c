#include "models/stages/partition.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

using Costs = std::vector<std::int64_t>;

std::vector<std::int64_t> loads(const Partition& partition, const Costs& costs) {
  std::vector<std::int64_t> loads;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const LayerRange range = partition.range(s);
    loads.push_back(std::accumulate(costs.begin() + static_cast<std::ptrdiff_t>(range.begin),
                                    costs.begin() + static_cast<std::ptrdiff_t>(range.end), std::int64_t{0}));
  }
  return loads;
}

/// Largest stage, then sum of squares.
std::pair<std::int64_t, std::int64_t> quality(const Partition& partition, const Costs& costs) {
  const std::vector<std::int64_t> all = loads(partition, costs);
  std::int64_t squares = 0;
  for (const std::int64_t load : all) squares += load * load;
  return {*std::max_element(all.begin(), all.end()), squares};
}

/// The best quality over every way to cut, by trying them all.
std::pair<std::int64_t, std::int64_t> best_quality(const Costs& costs, std::int32_t num_stages) {
  const auto stages = static_cast<std::size_t>(num_stages);
  std::vector<bool> cut(costs.size() - 1, false);
  std::fill(cut.begin(), cut.begin() + num_stages - 1, true);
  auto best = std::pair{std::numeric_limits<std::int64_t>::max(), std::int64_t{0}};
  do {
    Partition partition{{0}};
    for (std::size_t k = 0; k < cut.size(); ++k) {
      if (cut[k]) partition.bounds.push_back(k + 1);
    }
    partition.bounds.push_back(costs.size());
    REQUIRE(partition.num_stages() == stages);
    best = std::min(best, quality(partition, costs));
  } while (std::prev_permutation(cut.begin(), cut.end()));
  return best;
}

Network blocks(std::size_t residuals) {
  Network network;
  network.layers.resize(residuals + 3);
  for (LayerSpec& layer : network.layers) layer.kind = LayerKind::kResidual;
  network.layers.front().kind = LayerKind::kEmbedding;
  network.layers[residuals + 1].kind = LayerKind::kLayerNorm;
  network.layers.back().kind = LayerKind::kHead;
  return network;
}

}  // namespace

TEST_CASE("a balanced cut is as good as the best of all cuts") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const std::size_t layers = 1 + random() % 11;
    Costs costs(layers);
    for (std::int64_t& cost : costs) cost = static_cast<std::int64_t>(random() % 10);
    for (std::int32_t stages = 1; stages <= static_cast<std::int32_t>(layers); ++stages) {
      CAPTURE(round);
      CAPTURE(stages);
      const Partition partition = balanced_partition(costs, stages);
      REQUIRE(partition.num_stages() == static_cast<std::size_t>(stages));
      CHECK(std::is_sorted(partition.bounds.begin(), partition.bounds.end()));
      CHECK(std::adjacent_find(partition.bounds.begin(), partition.bounds.end()) == partition.bounds.end());
      CHECK(quality(partition, costs) == best_quality(costs, stages));
    }
  }
}

TEST_CASE("ten equal layers on four stages are cut evenly, not greedily") {
  const std::vector<std::int64_t> all = loads(balanced_partition(Costs(10, 5), 4), Costs(10, 5));
  CHECK(*std::max_element(all.begin(), all.end()) == 15);
  CHECK(*std::min_element(all.begin(), all.end()) == 10);
}

TEST_CASE("a layer that dwarfs the others gets a stage of its own") {
  CHECK(to_string(balanced_partition(Costs{1, 1, 1, 100, 1, 1}, 3)) == "3,1,2");
  CHECK(to_string(balanced_partition(Costs{0, 0, 0, 0}, 4)) == "1,1,1,1");
}

TEST_CASE("equal stages have whole transformer blocks where the number divides") {
  CHECK(to_string(equal_partition(blocks(16), 4)) == "5,4,4,6");
  CHECK(to_string(equal_partition(load_network("gpt3-175b"), 8)) == "25,24,24,24,24,24,24,26");
}

TEST_CASE("embedding and head count as a block each where only that divides") {
  CHECK(to_string(equal_partition(blocks(44), 8)) == "5,6,6,6,6,6,6,6");
  CHECK(to_string(equal_partition(load_network("zb-28.3b"), 32)).substr(0, 10) == "3,4,4,4,4,");
  CHECK(to_string(equal_partition(blocks(4), 4)) == "2,1,1,3");  // no stage of an embedding alone
}

TEST_CASE("otherwise residual layers are spread, then all layers") {
  CHECK(to_string(equal_partition(blocks(6), 2)) == "4,5");
  CHECK(to_string(equal_partition(blocks(10), 3)) == "5,3,5");
  CHECK(to_string(equal_partition(blocks(2), 5)) == "1,1,1,1,1");
  Network chain;
  chain.layers.resize(7);
  for (LayerSpec& layer : chain.layers) layer.kind = LayerKind::kLinear;
  CHECK(to_string(equal_partition(chain, 3)) == "3,2,2");
  CHECK(to_string(equal_partition(chain, 1)) == "7");
}

TEST_CASE("every built-in network can be cut into any number of stages up to its layers") {
  for (const std::string_view name : builtin_networks()) {
    const Network network = load_network(name);
    const auto layers = static_cast<std::int32_t>(network.layers.size());
    for (std::int32_t stages = 1; stages <= layers; ++stages) {
      const Partition partition = equal_partition(network, stages);
      const bool ascending = std::is_sorted(partition.bounds.begin(), partition.bounds.end(), std::less_equal<>());
      if (partition.num_stages() == static_cast<std::size_t>(stages) && ascending) continue;
      CAPTURE(name);
      CAPTURE(stages);
      FAIL_CHECK(to_string(partition));
    }
  }
}

TEST_CASE("a partition by hand must be numbers that add up") {
  CHECK(parse_partition("3,4,4,3", 14).bounds == std::vector<std::size_t>{0, 3, 7, 11, 14});
  CHECK(error_message([] { parse_partition("3,4", 14); }) == "partition '3,4': adds up to 7 layers, expected 14");
  CHECK(error_message([] { parse_partition("3,,4", 14); }) ==
        "partition '3,,4': '' is not a number of layers, expected how many each stage has, such as 3,4,4,3");
  CHECK(parse_partition("7,0,7", 14).bounds == std::vector<std::size_t>{0, 7, 7, 14});
  for (const char* ends : {"14,0", "0,14"}) {
    CHECK(error_message([&] { parse_partition(ends, 14); }) ==
          "partition '" + std::string(ends) +
              "': the first or last stage has no layers, expected at least one in each");
  }
  CHECK(error_message([] { parse_partition("99999999999999999999", 14); }) ==
        "partition '99999999999999999999': '99999999999999999999' is not a number of layers, expected how many each "
        "stage has, such as 3,4,4,3");
}

TEST_CASE("more stages than layers are refused") {
  CHECK(error_message([] {
          balanced_partition(Costs{1, 2}, 3);
        }) == "partition: 3 stages need at least as many layers, found 2");
  CHECK(error_message([] { equal_partition(blocks(4), 8); }) ==
        "partition: 8 stages need at least as many layers, found 7");
  CHECK(error_message([] { equal_partition(blocks(4), 0); }) == "partition: expected at least 1 stage, found 0");
  CHECK(error_message([] { balanced_partition(Costs{1, -2}, 2); }) == "partition: costs must be at least 0, found -2");
  CHECK(error_message([] {
          balanced_partition(Costs{INT64_MAX, 1}, 2);
        }) == "partition: the costs add up to more than 64 bits");
}

TEST_SUITE_END();
