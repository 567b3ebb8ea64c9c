#include <doctest/doctest.h>

#include <string>

#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// Three chunks on each of four devices, 8 microbatches, F = 1 and B = 2 of a chunk.
double mobius_with_load(int load) {
  const std::string cost = "F=1,B=2,LOAD=" + std::to_string(load);
  const Timeline timeline = simulated({.name = "mobius", .p = 4, .m = 8, .cost = cost, .chunks = 3});
  return in_units(timeline.makespan, timeline.base);
}

}  // namespace

TEST_CASE("loads that take no longer than the microbatches of a chunk hide, but for the first one") {
  for (const int load : {0, 1, 4, 8}) CHECK(mobius_with_load(load) == load + 3 * (3 * 8 + 3));
}

TEST_CASE("slower loads pace the forwards, and above m B the backwards too") {
  for (const int load : {9, 12, 16}) CHECK(mobius_with_load(load) == 3 * load + (8 + 3) + 2 * (3 * 8 + 3));
  for (const int load : {17, 20, 22}) {  // up to here the load before the last update hides in the drain
    CHECK(mobius_with_load(load) == 3 * load + (8 + 3) + 2 * (3 * 8 + 3) + 2 * (load - 16));
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
