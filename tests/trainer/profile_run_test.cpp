#include "trainer/profile_run.hpp"

#include <doctest/doctest.h>

#include "models/error.hpp"
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

TEST_CASE("more devices than stages are refused") {
  CHECK_THROWS_WITH_AS(profile_run(tiny_profile(2, 3)),
                       "profile: 3 devices for 2 stages; expected at least one stage per device", Error);
}

}  // namespace plumb

TEST_SUITE_END();
