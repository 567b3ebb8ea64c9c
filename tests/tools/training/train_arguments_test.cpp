#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "models/stages/layer_work.hpp"
#include "models/stages/partition.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/training/train_arguments.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

std::int64_t longest_stage(const Partition& partition, const std::vector<std::int64_t>& times) {
  std::int64_t longest = 0;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const auto begin = times.begin() + static_cast<std::ptrdiff_t>(partition.bounds[s]);
    const auto end = times.begin() + static_cast<std::ptrdiff_t>(partition.bounds[s + 1]);
    longest = std::max(longest, std::accumulate(begin, end, std::int64_t{0}));
  }
  return longest;
}

}  // namespace

TEST_CASE("training cuts a network so that its longest stage is the shortest of all cuts") {
  ModelArguments arguments;
  arguments.network = "gpt2-small";
  const Network network = arguments.load_network();
  const std::vector<std::int64_t> times = relative_layer_times(network, arguments.shape(network));
  REQUIRE(times.size() == network.layers.size());
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  const std::size_t n = times.size();
  for (std::size_t a = 1; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      for (std::size_t c = b + 1; c < n; ++c) best = std::min(best, longest_stage({{0, a, b, c, n}}, times));
    }
  }
  CHECK(longest_stage(arguments.cut(network, 4), times) == best);
  arguments.partition = "balanced";
  CHECK(longest_stage(arguments.cut(network, 4), times) == best);
  arguments.partition = "equal";
  CHECK(arguments.cut(network, 4) == equal_partition(network, 4));
  CHECK(longest_stage(arguments.cut(network, 4), times) > best);
}

TEST_CASE("small models of examples are cut by work as they are cut equally") {
  for (const char* name : {"gpt-tiny", "gpt-mini"}) {
    ModelArguments arguments;
    arguments.network = name;
    const Network network = arguments.load_network();
    for (const std::int32_t stages : {2, 4}) CHECK(arguments.cut(network, stages) == equal_partition(network, stages));
  }
}

}  // namespace plumb

TEST_SUITE_END();
