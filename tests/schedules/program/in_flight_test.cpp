#include "schedules/program/in_flight.hpp"

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"

TEST_SUITE_BEGIN("schedules");

using namespace plumb;

namespace {

std::vector<std::int64_t> peak(const std::string& name) {
  return peak_in_flight(generate(name, {.num_devices = 4, .num_microbatches = 8}));
}

}  // namespace

TEST_CASE("GPipe has all microbatches in flight, 1F1B p - s, and split backwards count until W") {
  CHECK(peak("gpipe") == std::vector<std::int64_t>{8, 8, 8, 8});
  CHECK(peak("1f1b") == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(peak("zb-h1") == std::vector<std::int64_t>{4, 4, 4, 4});
}

TEST_CASE("copies of a stage are counted apart") {
  const Schedule chimera = generate("chimera", {.num_devices = 4, .num_microbatches = 8});
  for (const std::int64_t most : peak_in_flight(chimera)) CHECK(most <= 4);
}

TEST_CASE("of endless lists the beginning is enough") {
  const Schedule endless = generate("1f1b", {.num_devices = 4, .num_microbatches = 1'000'000'000});
  CHECK(peak_in_flight(endless) == std::vector<std::int64_t>{4, 3, 2, 1});
}
