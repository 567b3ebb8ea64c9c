#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

double peak(const std::vector<std::string>& lists, std::int64_t microbatches, const char* memory, bool spans) {
  Schedule schedule = testing::written_schedule(lists, microbatches);
  schedule.forward_only = true;
  if (lists.front().find('.') != std::string::npos) schedule.slices = Slices{Slices::Axis::kBatch, {{1, 3}}};
  const StageCosts costs = abstract_costs("F=1", memory, {.num_stages = schedule.num_stages});
  return simulate(lower(schedule, costs), {.spans = spans}).devices[0].peak_activations;
}

}  // namespace

TEST_CASE("in forward mode a device keeps at most what one forward makes, however many there are") {
  for (const bool spans : {true, false}) {
    CAPTURE(spans);
    CHECK(peak({"0F0 0F1 0F2"}, 3, "", spans) == 1);
    CHECK(peak({"0F0+1 0F2"}, 3, "", spans) == 2);
    CHECK(peak({"0F0.0 0F0.1"}, 1, "", spans) == 0.75);
    CHECK(peak({"0F0 0F1 0F2", "1F0 1F1 1F2"}, 3, "F=4,B=-4", spans) == 4);
  }
}

}  // namespace plumb

TEST_SUITE_END();
