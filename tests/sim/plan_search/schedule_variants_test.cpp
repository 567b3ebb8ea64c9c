#include "sim/plan_search/schedule_variants.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb {

TEST_CASE("a schedule that is named is bounded as sliced when its generator cuts microbatches, and only then") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    if (!spec.synchronous) continue;
    const Schedule schedule = generate(spec.name, {.num_devices = 4, .num_microbatches = 12, .chunks = 0});
    if (schedule.vocabulary) continue;  // refused
    const bool sliced = schedule.slices.has_value();
    for (const ScheduleVariant& variant : schedule_variants({.chunks = {2}, .schedules = {std::string(spec.name)}})) {
      CHECK(variant.sliced == sliced);
    }
  }
  CHECK(schedule_variants({.chunks = {2}, .schedules = {"seq1f1b"}}).front().sliced);
  CHECK_FALSE(schedule_variants({.chunks = {2}, .schedules = {"stp"}}).front().sliced);
}

TEST_CASE("schedules with pairs are bounded without the communication that pairs hide, and stp is searched") {
  for (const std::string name : {"dualpipe", "dualpipev", "stp"}) {
    CAPTURE(name);
    CHECK(schedule_variants({.chunks = {2}, .schedules = {name}}).front().overlaps);
  }
  CHECK_FALSE(schedule_variants({.chunks = {2}, .schedules = {"zb-v"}}).front().overlaps);
  const auto searched = schedule_variants({.chunks = {2}});
  CHECK(std::ranges::any_of(searched, [](const ScheduleVariant& each) { return each.spec->name == "stp"; }));
}

TEST_CASE("a schedule that divides the vocabulary is refused by name and left out of searches") {
  CHECK_THROWS_WITH_AS(schedule_variants({.chunks = {2}, .schedules = {"1f1b-vocab"}}),
                       "schedule '1f1b-vocab': divides the vocabulary over all devices, expected a schedule whose "
                       "stages hold layers",
                       Error);
  for (const ScheduleVariant& each : schedule_variants({.chunks = {2}})) CHECK(each.spec->name != "1f1b-interlaced");
}

TEST_CASE("a schedule whose order follows the costs is told from one whose order does not") {
  CHECK_FALSE(schedule_variants({.chunks = {2}, .schedules = {"1f1b"}}).front().for_costs);
  CHECK(schedule_variants({.chunks = {2}, .schedules = {"zb-1p"}}).front().for_costs);
  CHECK(schedule_variants({.chunks = {2}, .schedules = {"v-auto"}}).front().for_costs);
}

}  // namespace plumb
