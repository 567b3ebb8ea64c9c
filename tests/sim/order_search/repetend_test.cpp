#include "sim/order_search/repetend.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/checks/validate.hpp"
#include "sim/order_search/repetend_schedule.hpp"
#include "sim/order_search/shape_schedule.hpp"
#include "sim/order_search/shapes.hpp"
#include "sim/simulate.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr std::int64_t kRepetendNodes = 200'000;

struct SmallestPeriod {
  std::string shape;
  std::int32_t devices;
  std::int64_t limit;
  Ticks period;
  ShapeCosts costs{};
};

}  // namespace

TEST_CASE("the smallest periods of Tessel's shapes are found and proved") {
  const ShapeCosts three{.backward = 3};
  const ShapeCosts loss{.shared_backward = 2, .shared_stash = 1};
  const std::vector<SmallestPeriod> all{{"v", 2, 2, 3},
                                        {"v", 2, 3, 3},
                                        {"v", 2, 4, 3},
                                        {"v", 3, 2, 6},
                                        {"v", 3, 3, 3},
                                        {"v", 3, 4, 3},
                                        {"v", 4, 2, 6},
                                        {"v", 4, 3, 6},
                                        {"v", 4, 4, 3},
                                        {"v", 2, 1, 6},
                                        {"m", 2, 1, 10, three},
                                        {"m", 2, 2, 6, three},
                                        {"m", 2, 3, 6, three},
                                        {"m", 2, 4, 6, three},
                                        {"m", 2, 5, 6, three},
                                        {"m", 4, 3, 10, three},
                                        {"m", 4, 4, 7, three},
                                        {"m", 4, 5, 6, three},
                                        {"m", 4, 6, 6, three},
                                        {"nn", 2, 1, 12, three},
                                        {"nn", 2, 2, 8, three},
                                        {"nn", 2, 3, 8, three},
                                        {"nn", 2, 4, 8, three},
                                        {"nn", 2, 5, 8, three},
                                        {"nn", 4, 4, 9, three},
                                        {"nn", 4, 5, 9, three},
                                        {"nn", 4, 6, 8, three},
                                        {"interlaced", 2, 3, 12, loss},
                                        {"interlaced", 2, 6, 9, loss}};
  for (const SmallestPeriod& row : all) {
    CAPTURE(row.shape);
    CAPTURE(row.devices);
    CAPTURE(row.limit);
    const FoundRepetend found =
        search_repetend(shape_blocks(row.shape, row.devices, row.limit, row.costs), 1, kRepetendNodes);
    CHECK(found.repetend.period == row.period);
    CHECK(found.proved());
  }
}

TEST_CASE("the simulator runs blocks of several devices at once with the period that was proved") {
  const ShapeCosts three{.backward = 3};
  for (const SmallestPeriod& row : std::vector<SmallestPeriod>{{"v", 4, 3, 6, {}},
                                                               {"x", 4, 4, 6, {}},
                                                               {"m", 2, 2, 6, three},
                                                               {"m", 4, 4, 7, three},
                                                               {"m", 4, 5, 6, three},
                                                               {"nn", 4, 4, 9, three},
                                                               {"nn", 4, 6, 8, three},
                                                               {"k", 4, 3, 6, three},
                                                               {"interlaced", 4, 6, 8, three}}) {
    CAPTURE(row.shape);
    const BlockProblem problem = shape_blocks(row.shape, row.devices, row.limit, row.costs);
    const FoundRepetend found = search_repetend(problem, 1, kRepetendNodes);
    const std::string times = "F=1,B=" + std::to_string(row.costs.backward);
    const auto makespan = [&](std::int64_t all) {
      const Schedule schedule = shape_schedule(problem, repeated(problem, found.repetend, all), all);
      REQUIRE(validate(schedule).empty());
      const Timeline timeline =
          simulate_summary(schedule, abstract_costs(times, "", {.num_stages = schedule.num_stages}));
      for (const DeviceSummary& device : timeline.devices) {
        CHECK(device.peak_activations <= static_cast<double>(row.limit));
      }
      return timeline.makespan / 1'000'000;
    };
    CHECK(found.repetend.period == row.period);
    CHECK(makespan(40) - makespan(30) == 10 * row.period);
  }
}

TEST_SUITE_END();
