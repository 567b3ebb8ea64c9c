#include "sim/plan_search/schedule_variants.hpp"

#include <string>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("plan search");

namespace plumb {

TEST_CASE("a schedule that is named is bounded as sliced when its generator cuts microbatches, and only then") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    if (!spec.synchronous) continue;
    const bool sliced = generate(spec.name, {.num_devices = 4, .num_microbatches = 12, .chunks = 0}).slices.has_value();
    for (const ScheduleVariant& variant : schedule_variants({std::string(spec.name)}, {2})) {
      CHECK(variant.sliced == sliced);
    }
  }
  CHECK(schedule_variants({"seq1f1b"}, {2}).front().sliced);
  CHECK_FALSE(schedule_variants({"stp"}, {2}).front().sliced);
}

TEST_CASE("a schedule whose order follows the costs is told from one whose order does not") {
  CHECK_FALSE(schedule_variants({"1f1b"}, {2}).front().for_costs);
  CHECK(schedule_variants({"zb-1p"}, {2}).front().for_costs);
  CHECK(schedule_variants({"v-auto"}, {2}).front().for_costs);
}

}  // namespace plumb
