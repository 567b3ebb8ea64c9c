#include "trainer/profile_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/error.hpp"
#include "schedules/lower.hpp"
#include "schedules/validate.hpp"
#include "sim/company.hpp"
#include "sim/simulate.hpp"
#include "trainer/contention_run.hpp"
#include "trainer/profile_schedule.hpp"
#include "training_cases.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

ProfileOptions tiny_profile(std::int32_t stages, std::int32_t devices) {
  ProfileOptions options;
  options.network = tiny_language_model(2, false);
  options.partition = equal_partition(options.network, stages);
  options.shape = {2, 5};
  options.num_devices = devices;
  options.data = &test_text();
  options.microbatches = 4;
  options.updates = 2;
  return options;
}

}  // namespace

TEST_CASE("a profile has every action of every stage, as often as it was run after the warm-up") {
  std::int64_t rounds = 0;
  ProfileOptions options = tiny_profile(2, 0);
  options.on_round = [&](std::int64_t) { ++rounds; };
  const Profile profile = profile_run(options);
  CHECK(rounds == 2);
  CHECK(profiled_partition(profile) == options.partition);
  REQUIRE(profile.stages.size() == 2);
  REQUIRE(profile.crowded.size() == 2);
  std::vector<ProfiledTimes> both = profile.stages;
  both.insert(both.end(), profile.crowded.begin(), profile.crowded.end());
  for (const ProfiledTimes& stage : both) {
    CHECK(stage.f.count == 2 * 2 * 8);  // rounds, fused and split, microbatches
    CHECK(stage.b.count == 2 * 8);
    CHECK(stage.i.count == 2 * 8);
    CHECK(stage.w.count == 2 * 8);
    CHECK(stage.u.count == 2 * 2 * 2);
    for (const Measured& measured : {stage.f, stage.b, stage.i, stage.w, stage.u}) {
      CHECK(measured.p10_ns > 0);
      CHECK(measured.p10_ns <= measured.median_ns);
      CHECK(measured.median_ns <= measured.p90_ns);
    }
  }
  CHECK(profile.stages[0].in_flight == 2);
  CHECK(profile.stages[1].in_flight == 1);
  for (const ProfiledTimes& stage : profile.crowded) CHECK(stage.in_flight == 4);
  for (const ProfiledTimes& stage : profile.stages) {
    CHECK(stage.evict.count == 2 * 8);
    CHECK(stage.load.count == 2 * 8);
    CHECK(stage.evict.p10_ns > 0);
  }
  REQUIRE(profile.transfers.size() == 1);
  CHECK(profile.transfers[0].bytes == 2 * 5 * 8 * 4);
}

TEST_CASE("more stages than devices are profiled as neighbours on one device") {
  const Profile profile = profile_run(tiny_profile(7, 2));
  REQUIRE(profile.stages.size() == 7);
  for (const ProfiledTimes& stage : profile.stages) CHECK(stage.b.count == 16);
}

TEST_CASE("a profile reads back as it was, and costs a schedule") {
  const ProfileOptions options = tiny_profile(2, 2);
  const Profile profile = profile_run(options);
  CHECK(profile_from_json(profile_to_json(profile), "profile.json") == profile);
  const StageCosts costs = profile_costs(profile, options.network, options.partition);
  CHECK(costs.times[0].f == profile.stages[0].f.mean_ns);
  CHECK(costs.times[1].evict == profile.stages[1].evict.mean_ns);
  CHECK(costs.times[1].load == profile.stages[1].load.mean_ns);
}

TEST_CASE("actions alone, then in company, are fitted on threads, too: times alone and what could not be told") {
  ProfileOptions options = tiny_profile(2, 2);
  options.rounds = 1;
  const ContentionRun run = measure_contention(options);
  REQUIRE(run.profile.stages.size() == 2);
  for (const ProfiledTimes& stage : run.profile.stages) {
    CHECK(stage.f.count == 2 * 8);  // fused and split, as many as elsewhere
    CHECK(stage.b.count == 8);
    CHECK(stage.w.count == 8);
    CHECK(stage.u.count == 2 * 8);
  }
  CHECK(run.profile.crowded.empty());
  CHECK(run.profile.contention == run.fit.contention);
  CHECK(run.fit.actions > 0);
  CHECK(profile_from_json(profile_to_json(run.profile), "profile.json") == run.profile);
  CHECK(profile_cluster(run.profile, 2, 0).contention == run.profile.contention);
}

TEST_CASE("one at a time, nothing runs beside anything else, with fused and with split backwards") {
  for (const bool split : {false, true}) {
    const Schedule schedule =
        profile_schedule({.devices = 3, .stages = 5, .microbatches = 1, .updates = 4}, {.split = split, .alone = true});
    CHECK(validate(schedule).empty());
    StageCosts costs;
    costs.times.assign(5, {.f = 10, .b = 20, .i = 9, .w = 11, .u = 3});
    costs.comm = 2;
    const Timeline timeline = simulate(lower(schedule, costs));
    for (const MetAction& action : company_of(timeline).actions) CHECK(action.behind - action.first == 1);
    const Company company = company_of(timeline);
    CHECK(company.actions.size() == static_cast<std::size_t>(4 * 5 * (split ? 4 : 3)));
    CHECK(std::ranges::all_of(company.stretches, &Stretch::alone));
  }
}

TEST_CASE("more devices than stages are refused") {
  CHECK_THROWS_WITH_AS(profile_run(tiny_profile(2, 3)),
                       "profile: 3 devices for 2 stages; expected at least one stage per device", Error);
}

}  // namespace plumb

TEST_SUITE_END();
