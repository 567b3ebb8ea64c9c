#include "sim/plan_search/plan_estimates.hpp"

#include <doctest/doctest.h>

#include <algorithm>

TEST_SUITE_BEGIN("plan search");

using namespace plumb;

namespace {

const StageTimes kEqualPasses{.f = 10, .b = 20, .i = 10, .w = 10};

ScheduleShape shape_of(const char* name, double turns) {
  ScheduleShapes shapes;
  return shapes.of(schedule_variants({.chunks = {2}, .schedules = {name}}).front(), turns, kEqualPasses);
}

}  // namespace

TEST_CASE("shapes of schedules are those of their closed forms") {
  CHECK(shape_of("1f1b", 2).fill == doctest::Approx(1));
  CHECK(shape_of("1f1b", 1000).fill == doctest::Approx(1));
  CHECK(shape_of("1f1b", 2).kept == doctest::Approx(1));
  CHECK(shape_of("gpipe", 2).fill == doctest::Approx(1));
  CHECK(shape_of("gpipe", 2).kept == doctest::Approx(2));
  CHECK(shape_of("gpipe", 50).kept == doctest::Approx(50));  // all microbatches are in flight, however many
  CHECK(shape_of("interleaved", 2).fill == doctest::Approx(0.5));
  CHECK(shape_of("zb-h1", 2).fill == doctest::Approx(1.0 / 3));
}

TEST_CASE("stages of a place are added up where the schedule puts them") {
  const std::vector<ScheduleVariant> variants =
      schedule_variants({.chunks = {2}, .schedules = {"zb-v", "interleaved", "chimera"}});
  const std::vector<double> loads{1, 2, 3, 4};
  const std::vector<double> speed{1, 0.5};
  CHECK(position_loads(variants[0], loads, speed) == std::vector<double>{5, 10});
  CHECK(position_loads(variants[1], loads, speed) == std::vector<double>{4, 12});
  CHECK(position_loads(variants[2], {1, 2}, speed) == std::vector<double>{1.5, 3});
  CHECK(estimated_ticks({5, 10}, 8, 0.5) == doctest::Approx(8 * 10 + 0.5 * 7.5));
}

TEST_SUITE_END();
