#include <vector>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/stages/network_costs.hpp"
#include "models/stages/stage_reversal.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb::testing {

TEST_CASE("half of the samples of a microbatch take half of its passes, of their communication and of their pairs") {
  const Network network = load_network("gpt-tiny");
  const StageCosts costs = untimed_costs(network, equal_partition(network, 2), {2, 16}, Precision{});
  REQUIRE(costs.part);
  StageTimes times{.f = 100, .b = 220, .i = 120, .w = 140, .r = 60};
  times.f_comm = {.all = 10, .shown = 4};
  times.b_comm = {.all = 20, .shown = 6};
  times.i_comm = {.all = 30, .shown = 8};
  times.w_comm = {.all = 40, .shown = 12};
  for (std::size_t k = 0; k < times.pairs.ticks.size(); ++k) times.pairs.ticks[k] = static_cast<Ticks>(2 * k + 2);
  const StageTimes half = costs.part(StageId{1}, {1, 1, 0, 1, 2, false}, times).times;
  StageTimes expected{.f = 50, .b = 110, .i = 60, .w = 70, .r = 30};
  expected.f_comm = {.all = 5, .shown = 2};
  expected.b_comm = {.all = 10, .shown = 3};
  expected.i_comm = {.all = 15, .shown = 4};
  expected.w_comm = {.all = 20, .shown = 6};
  for (std::size_t k = 0; k < times.pairs.ticks.size(); ++k) expected.pairs.ticks[k] = static_cast<Ticks>(k + 1);
  CHECK(half == expected);
}

TEST_CASE("a stage can be reversed exactly where each of its layers can by itself, and no slice can") {
  const Network network = load_network("revnet-tiny");
  const std::size_t layers = network.layers.size();
  const MicrobatchShape whole{1, network.sequence};
  std::vector<bool> alone;
  for (std::size_t k = 0; k < layers; ++k) alone.push_back(can_reverse(network.layers, {k, k + 1}, whole));
  std::size_t reversible = 0;
  for (std::size_t begin = 0; begin < layers; ++begin) {
    CHECK_FALSE(can_reverse(network.layers, {begin, begin}, whole));
    for (std::size_t end = begin + 1; end <= layers; ++end) {
      bool all = true;
      for (std::size_t k = begin; k < end; ++k) all = all && alone[k];
      CHECK(can_reverse(network.layers, {begin, end}, whole) == all);
      reversible += all ? 1 : 0;
      MicrobatchShape slice = whole;
      slice.before = 1;
      CHECK_FALSE(can_reverse(network.layers, {begin, end}, slice));
      slice.before = 0;
      slice.after = 1;
      CHECK_FALSE(can_reverse(network.layers, {begin, end}, slice));
    }
  }
  CHECK(reversible > 1);
  CHECK_FALSE(alone.front());
  CHECK_FALSE(alone.back());
}

}  // namespace plumb::testing

TEST_SUITE_END();
