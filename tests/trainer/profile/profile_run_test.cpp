#include "trainer/profile/profile_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "models/ground/error.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/contention_fit/fit_contention.hpp"
#include "sim/contention_fit/overlap.hpp"
#include "sim/simulate.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/profile/contention_run.hpp"
#include "trainer/profile/mirrored_schedule.hpp"
#include "trainer/profile/profile_schedule.hpp"

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

TEST_CASE("actions alone, then overlapped, are fitted on threads, too: times alone and what could not be determined") {
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

TEST_CASE("a load that changes has everything alone in every other update, and all devices at work in the others") {
  const Schedule schedule =
      profile_schedule({.devices = 3, .stages = 5, .microbatches = 6, .updates = 5}, {.changing = true});
  CHECK(validate(schedule).empty());
  StageCosts costs;
  costs.times.assign(5, {.f = 10, .b = 20, .u = 3});
  costs.comm = 2;
  const Overlap overlap = overlap_of(simulate(lower(schedule, costs)));
  std::size_t most = 0;
  for (const LoadStep& step : overlap.steps) most = std::max<std::size_t>(most, step.active);
  CHECK(most == 3);
  for (const OverlappedAction& action : overlap.actions) {
    CAPTURE(action.update);
    if (action.update % 2 == 0) CHECK(action.end - action.first == 1);
    if (action.kind == Load::kU) CHECK(overlap.intervals[action.first].alone());
  }
}

TEST_CASE("a clock slower than an update is told better with the run whose load changes") {
  Cluster cluster;
  cluster.devices.resize(4, {.name = {}, .jitter = 0.01});
  cluster.devices_per_node = 4;
  ClockModel& clock = cluster.contention.clock.emplace();
  clock.load.fill(1);
  clock.points = {{1, 1}, {4, 0.92}};
  clock.period_ns = 500'000;  // a time constant of 4 ms, where an update takes 3.3 ms
  clock.gain = 0.1175;
  cluster.finish();
  StageCosts costs;
  costs.times.assign(4, {.f = 100'000, .b = 200'000, .u = 10'000});
  costs.memory.resize(4);
  const auto run = [&](std::int64_t m, std::int64_t updates, const ProfileKind& kind) {
    SimOptions options;
    options.seed = static_cast<std::uint64_t>(m + updates);
    const Schedule schedule =
        profile_schedule({.devices = 4, .stages = 4, .microbatches = m, .updates = updates}, kind);
    return simulate(lower(schedule, costs, &cluster), options);
  };
  std::vector<Timeline> runs{run(1, 25, {.alone = true}), run(8, 4, {}), run(8, 4, {.crowded = true})};
  const ContentionFitOptions options{.first_update = 1, .resamples = 40};
  const ContentionFit without = fit_contention(runs, options);
  runs.push_back(run(8, 5, {.changing = true}));
  const ContentionFit with = fit_contention(runs, options);
  REQUIRE(with.contention.clock.has_value());
  const auto off = [](const ContentionFit& fit) { return fit.clock ? std::abs(fit.clock->fall.value - 0.08) : 1; };
  CHECK(off(with) < 0.015);
  CHECK(off(with) < off(without));
  CHECK(with.clock->lag_ns.value > 4e6 / 1.5);
  CHECK(with.clock->lag_ns.value < 4e6 * 1.5);
}

TEST_CASE("two copies of a pipeline reduce beside weight gradients, which tells what a reduction takes") {
  for (const std::int32_t stages : {3, 5}) {
    for (const bool alone : {true, false}) {
      const Schedule schedule =
          mirrored_schedule({.devices = 3, .stages = stages, .microbatches = 4, .updates = 2}, alone);
      CHECK(validate(schedule).empty());
    }
  }
  Cluster cluster;
  cluster.devices.resize(4, {.name = {}, .jitter = 0.01});
  cluster.devices_per_node = 4;
  cluster.intra_node = {.latency_ns = 20, .bytes_per_s = 10e9};
  cluster.contention.collective_share = 0.2;
  cluster.contention.slowdowns = {{set_of(Load::kW), set_of(Load::kW), {0.03, 0.05, 0.06}}};
  cluster.finish();
  StageCosts costs;
  costs.times.assign(4, {.f = 100'000, .b = 200'000, .i = 100'000, .w = 100'000, .u = 10'000});
  costs.memory.resize(4);
  for (StageMemory& memory : costs.memory) memory.gradient_bytes = 2'000'000;  // 200 us
  const auto run = [&](bool alone) {
    const ProfileShape shape{.devices = 4, .stages = 4, .microbatches = alone ? 2 : 8, .updates = 6};
    return simulate(lower(mirrored_schedule(shape, alone), costs, &cluster), {.seed = alone ? 1U : 2U});
  };
  const Overlap overlap = overlap_of(run(true));
  for (const OverlappedAction& action : overlap.actions) {
    for (std::size_t s = action.first; s != action.end && action.kind != Load::kU; ++s) {
      CHECK(overlap.intervals[s].alone());
    }
  }
  const ContentionFit fit = fit_contention(std::vector{run(true), run(false)}, {.first_update = 1, .resamples = 20});
  REQUIRE(fit.slowdowns.size() == 1);
  CHECK(fit.slowdowns[0].by == Load::kCollective);
  CHECK(std::abs(fit.slowdowns[0].share.value - 0.2) < 0.03);
}

TEST_CASE("what reductions take is looked for on threads, too, where that is asked for") {
  ProfileOptions options = tiny_profile(2, 2);
  options.rounds = 1;
  options.reductions = true;
  std::int64_t actions = 0;
  for (const bool alone : {true, false}) {
    const Timeline timeline = mirrored_run(with_devices(options), alone);
    CHECK(std::ranges::any_of(timeline.spans, [](const Span& span) { return span.action.op == Op::kReduceGrad; }));
    actions += static_cast<std::int64_t>(overlap_of(timeline).actions.size());
  }
  CHECK(actions > 0);
  CHECK(measure_contention(options).fit.actions > 0);
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
    for (const OverlappedAction& action : overlap_of(timeline).actions) CHECK(action.end - action.first == 1);
    const Overlap overlap = overlap_of(timeline);
    CHECK(overlap.actions.size() == static_cast<std::size_t>(4 * 5 * (split ? 4 : 3)));
    CHECK(std::ranges::all_of(overlap.intervals, &OverlapInterval::alone));
  }
}

TEST_CASE("more devices than stages are refused") {
  CHECK_THROWS_WITH_AS(profile_run(tiny_profile(2, 3)),
                       "profile: 3 devices for 2 stages; expected at least one stage per device", Error);
}

}  // namespace plumb

TEST_SUITE_END();
