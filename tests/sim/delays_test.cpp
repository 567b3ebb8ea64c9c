#include "schedules/versions/delays.hpp"

#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/simulated.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using Options = std::map<std::string, std::string>;

struct Run {
  std::string name;
  std::int32_t p = 0;
  std::int64_t n = 0;
  Options options = {};
  std::int64_t updates = 0;
};

std::vector<StageDelays> delays_of(const Run& run) {
  const Schedule schedule = generate(
      run.name, {.num_devices = run.p, .num_microbatches = run.n, .updates = run.updates, .options = run.options});
  return stage_delays(schedule, testing::lowered(schedule));
}

std::int64_t distance(std::int64_t p, std::int64_t stage, bool slots) {
  return slots ? 2 * (p - 1 - stage) + 1 : p - 1 - stage;
}

template <class Check>
void for_each_case(const Check& check) {
  for (const bool slots : {false, true}) {
    for (const std::int32_t p : {1, 2, 3, 4, 7}) {
      for (const std::int64_t n : {1, 2, 3, 4, 8}) {
        CAPTURE(slots);
        CAPTURE(p);
        CAPTURE(n);
        check(p, n, slots);
      }
    }
  }
}

Options timing(bool slots) { return {{"timing", slots ? "slots" : "1f1b"}}; }

}  // namespace

TEST_CASE("§10.3: the forward of pipemare is D / N updates old on average, its backward none") {
  for_each_case([](std::int32_t p, std::int64_t n, bool slots) {
    const std::vector<StageDelays> delays = delays_of({"pipemare", p, n, timing(slots)});
    REQUIRE(delays.size() == static_cast<std::size_t>(p));
    for (std::int32_t stage = 0; stage < p; ++stage) {
      CAPTURE(stage);
      const StageDelays& of = delays[static_cast<std::size_t>(stage)];
      const std::int64_t d = distance(p, stage, slots);
      CHECK(index(of.stage) == static_cast<std::size_t>(stage));
      CHECK(of.distance.begin()->first == d);
      CHECK(of.distance.size() == 1);
      CHECK(mean_delay(of.forward) == static_cast<double>(d) / static_cast<double>(n));
      CHECK(of.forward.rbegin()->first == testing::ceil_div(d, n));
      CHECK(of.forward.begin()->first == d / n);
      CHECK(mean_delay(of.backward) == 0);
      CHECK(of.versions == 1);
    }
  });
}

TEST_CASE("§10.2: pipedream keeps ceil(D / N) + 1 versions and its backward is as old as its forward") {
  for_each_case([](std::int32_t p, std::int64_t n, bool slots) {
    for (const StageDelays& of : delays_of({"pipedream", p, n, timing(slots)})) {
      const std::int64_t d = distance(p, static_cast<std::int64_t>(of.stage), slots);
      CHECK(of.versions == testing::ceil_div(d, n) + 1);
      CHECK(of.backward == of.forward);
      CHECK(mean_delay(of.forward) == static_cast<double>(d) / static_cast<double>(n));
    }
  });
}

TEST_CASE("§10.1: vertical sync is as old everywhere as the first stage; 2bw one update") {
  for (const StageDelays& of : delays_of({"pipedream-vs", 4, 2})) {
    CHECK(mean_delay(of.forward) == 1.5);
    CHECK(mean_delay(of.backward) == 1.5);
    CHECK(of.versions == 3);
  }
  for (const StageDelays& of : delays_of({"pipedream-2bw", 4, 4})) {
    CHECK(of.forward == DelayCounts{{1, of.forward.at(1)}});
    CHECK(of.backward == of.forward);
    CHECK(of.versions == 2);
  }
}

TEST_CASE("delays by position in the update: P = 4, N = 2 in slots are {4,3} {3,2} {2,1} {1,0}") {
  const std::vector<StageDelays> delays = delays_of({"pipemare", 4, 2, timing(true)});
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const DelayCounts& forward = delays[static_cast<std::size_t>(stage)].forward;
    REQUIRE(forward.size() == 2);
    CHECK(forward.begin()->first == 3 - stage);
    CHECK(forward.rbegin()->first == 4 - stage);
    CHECK(forward.begin()->second == forward.rbegin()->second);
  }
}

TEST_CASE("the smallest uniform delay of every published size is the first stage's largest one") {
  struct Published {
    std::int32_t p;
    std::int64_t n;
    std::int64_t one_at_a_time;
    std::int64_t slots;
  };
  const std::vector<Published> published{{2, 1, 1, 3}, {2, 2, 1, 2}, {2, 3, 1, 1}, {4, 1, 3, 7},  {4, 2, 2, 4},
                                         {4, 3, 1, 3}, {4, 4, 1, 2}, {4, 8, 1, 1}, {8, 1, 7, 15}, {8, 2, 4, 8},
                                         {8, 3, 3, 5}, {8, 4, 2, 4}, {8, 8, 1, 2}};
  for (const Published& row : published) {
    CAPTURE(row.p);
    CAPTURE(row.n);
    CHECK(delays_of({"pipemare", row.p, row.n, timing(false)})[0].forward.rbegin()->first == row.one_at_a_time);
    CHECK(delays_of({"pipemare", row.p, row.n, timing(true)})[0].forward.rbegin()->first == row.slots);
  }
}

TEST_CASE("synchronous schedules read what they update, whatever their order") {
  for (const std::string name : {"gpipe", "1f1b", "zb-h1", "interleaved"}) {
    CAPTURE(name);
    for (const StageDelays& of : delays_of({name, 4, 8, {}, 3})) {
      CHECK(of.forward == DelayCounts{{0, of.forward.at(0)}});
      CHECK(of.backward == of.forward);
      CHECK(of.versions == 1);
    }
  }
}

TEST_CASE("§10.3: a synchronous warm-up does not count: the delays after it are those without one") {
  const std::vector<StageDelays> plain = delays_of({"pipemare", 4, 2, {}, 20});
  const std::vector<StageDelays> warmed = delays_of({"pipemare", 4, 2, {{"synchronous", "5"}}, 25});
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CHECK(mean_delay(warmed[stage].forward) == mean_delay(plain[stage].forward));
    CHECK(warmed[stage].distance.begin()->first == plain[stage].distance.begin()->first);
  }
}

TEST_CASE("a run that never fills the pipeline does not reach the steady state, one update more than that does") {
  const auto reaches = [](std::int64_t updates) {
    const Schedule schedule = generate("pipemare", {.num_devices = 4, .num_microbatches = 1, .updates = updates});
    return reaches_steady_state(schedule, testing::lowered(schedule));
  };
  // The first stage takes microbatches 0 to 7 forward before its first backward, so update 8 is the first that counts.
  for (std::int64_t updates = 1; updates <= 12; ++updates) {
    CAPTURE(updates);
    CHECK(reaches(updates) == (updates >= 9));
  }
}

TEST_CASE("copies count the buffers of corrections, bytes are theirs") {
  const Schedule schedule = generate(
      "pipemare",
      {.num_devices = 2, .num_microbatches = 1, .updates = 8, .options = {{"correction", "t2"}, {"timing", "1f1b"}}});
  StageCosts costs;
  costs.times.assign(2, StageTimes{.f = 1, .b = 2, .i = 1, .w = 1});
  costs.memory.assign(2, StageMemory{.weight_bytes = 700});
  costs.comm = 0;
  const std::vector<StageDelays> delays = stage_delays(schedule, lower(schedule, costs));
  CHECK(delays[0].versions == 1);
  CHECK(delays[0].copies == 2);
  CHECK(delays[0].bytes == 1400);
  CHECK(delays[1].copies == 1);  // never behind, nothing to correct
}

TEST_CASE("a backward with folded recompute runs its forward again with the version it reads itself") {
  Schedule schedule = generate("pipemare", {.num_devices = 3, .num_microbatches = 1});
  CHECK(stage_delays(schedule, testing::lowered(schedule))[0].recompute.empty());
  schedule.recompute.push_back({.first_stage = 0, .last_stage = 2, .microbatches = {}});
  for (const StageDelays& of : stage_delays(schedule, testing::lowered(schedule))) {
    CHECK(of.recompute == of.backward);
  }
}

}  // namespace plumb

TEST_SUITE_END();
