#include "sim/passes/written_totals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

/// Times that differ from stage to stage, and memory units that do.
StageCosts uneven(std::int32_t num_stages, Ticks comm) {
  StageCosts costs = abstract_costs("F=1,B=2,U=0.5", "F=5,I=-2,W=-3", {.num_stages = num_stages});
  testing::set_uneven_times(costs);
  costs.comm = comm;
  return costs;
}

/// Whether the lists can be run as they are written; if so, checks every figure against the run of the whole program.
bool runs_as_written(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster = nullptr) {
  const auto written = lower_written(schedule, costs, cluster);
  if (!written) return false;
  const Program program = lower(schedule, costs, cluster);
  REQUIRE(has_plain_waits_only(program));
  const auto expected = run_totals(program);
  const auto found = run_written(*written);
  REQUIRE(expected.has_value());
  REQUIRE(found.has_value());
  REQUIRE(found->size() == expected->size());
  for (std::size_t d = 0; d < found->size(); ++d) {
    CAPTURE(d);
    CHECK((*found)[d].busy == (*expected)[d].busy);
    CHECK((*found)[d].useful == (*expected)[d].useful);
    CHECK((*found)[d].latency == (*expected)[d].latency);
    CHECK((*found)[d].first_start == (*expected)[d].first_start);
    CHECK((*found)[d].last_end == (*expected)[d].last_end);
    CHECK((*found)[d].first_update == (*expected)[d].first_update);
    CHECK((*found)[d].last_update == (*expected)[d].last_update);
    CHECK((*found)[d].peak_stash == (*expected)[d].peak_stash);
  }
  return true;
}

Schedule unfolded(Schedule schedule) {
  for (DeviceList& list : schedule.devices) list = {.actions = expand(list), .repeats = {}};
  return schedule;
}

/// Lists in which every kind of action of a stage goes through the microbatches in order, and all else is by chance;
/// `in_order` false: in any order of microbatches that can run.
Schedule by_chance(std::int32_t devices, std::int64_t microbatches, bool in_order, std::mt19937& random) {
  Schedule schedule = testing::schedule_of({.name = "zb-h1", .p = devices, .m = microbatches});
  for (DeviceList& list : schedule.devices) list = {};
  const auto stages = static_cast<std::size_t>(devices);
  // Done by op (F, I, W), stage and microbatch.
  std::array<std::vector<std::vector<bool>>, 3> done;
  for (auto& of : done) of.assign(stages, std::vector<bool>(static_cast<std::size_t>(microbatches), false));
  const auto can = [&](std::size_t kind, std::size_t stage, std::size_t m) {
    if (done[kind][stage][m] || (in_order && m > 0 && !done[kind][stage][m - 1])) return false;
    if (kind == 0) return stage == 0 || done[0][stage - 1][m];
    if (kind == 1) return done[0][stage][m] && (stage + 1 == stages || done[1][stage + 1][m]);
    return static_cast<bool>(done[1][stage][m]);
  };
  constexpr std::array kOps{Op::kF, Op::kI, Op::kW};
  for (std::int64_t left = 3 * devices * microbatches; left > 0;) {
    const std::size_t kind = random() % 3;
    const std::size_t stage = random() % stages;
    const std::size_t m = random() % static_cast<std::size_t>(microbatches);
    if (!can(kind, stage, m)) continue;
    done[kind][stage][m] = true;
    schedule.devices[stage].actions.push_back(
        action_of(static_cast<std::int32_t>(stage), kOps[kind], static_cast<std::int64_t>(m)));
    --left;
  }
  for (std::size_t stage = 0; stage < stages; ++stage) {
    schedule.devices[stage].actions.push_back(action_of(static_cast<std::int32_t>(stage), Op::kU, 0));
  }
  return schedule;
}

}  // namespace

TEST_CASE("a run of lists as they are written gives the figures of the whole program for every schedule") {
  std::set<std::string> accepted;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {1, 2, 3, 4, 6}) {
      for (const std::int64_t m : {1, 4, 7, 12, 30}) {
        for (const std::int64_t updates : {1, 3}) {
          CAPTURE(spec.name);
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(updates);
          Schedule schedule;
          try {
            schedule = testing::schedule_of({.name = spec.name, .p = p, .m = m, .updates = updates});
          } catch (const Error&) {
            continue;  // not a size of this schedule
          }
          for (const Ticks comm : {Ticks{0}, Ticks{30}}) {
            if (!runs_as_written(schedule, uneven(schedule.num_stages, comm))) continue;
            accepted.emplace(spec.name);
            CHECK(runs_as_written(unfolded(schedule), uneven(schedule.num_stages, comm)));
          }
          runs_as_written(schedule, abstract_costs("F=1,B=2", "", {.num_stages = schedule.num_stages}));
        }
      }
    }
  }
  for (const char* name : {"gpipe", "1f1b", "eager-1f1b", "kfkb", "interleaved", "breadth-first", "zb-h1", "zb-h2",
                           "zb-1p", "zb-auto", "zb-v", "v-half", "v-min", "hanayo"}) {
    CAPTURE(name);
    CHECK(accepted.contains(name));
  }
}

TEST_CASE("more devices than microbatches, and streams that hold hundreds of values, change nothing") {
  for (const std::string_view name : {"gpipe", "1f1b", "zb-h1", "zb-h2", "interleaved", "breadth-first"}) {
    for (const auto& [p, m] : {std::pair(40, 20), std::pair(16, 400), std::pair(64, 128)}) {
      CAPTURE(name);
      CAPTURE(p);
      CAPTURE(m);
      const Schedule schedule = testing::schedule_of({.name = name, .p = p, .m = name == "interleaved" ? 4 * p : m});
      CHECK(runs_as_written(schedule, uneven(schedule.num_stages, 7)));
    }
  }
}

TEST_CASE("devices of unlike speed run as written") {
  Cluster cluster;
  cluster.devices.resize(5);
  for (std::size_t d = 0; d < 5; ++d) cluster.devices[d].speed = 1.0 + 0.3 * static_cast<double>(d % 3);
  cluster.devices_per_node = 5;
  cluster.finish();
  for (const std::string_view name : {"gpipe", "1f1b", "zb-h1", "zb-v"}) {
    CAPTURE(name);
    const Schedule schedule = testing::schedule_of({.name = name, .p = 5, .m = 30});
    CHECK(runs_as_written(schedule, uneven(schedule.num_stages, 30), &cluster));
  }
}

TEST_CASE("orders by chance run as written where values are taken as they are given") {
  std::mt19937 random(7);
  int refused = 0;
  for (int turn = 0; turn < 200; ++turn) {
    CAPTURE(turn);
    const auto devices = static_cast<std::int32_t>(2 + turn % 4);
    const StageCosts costs = uneven(devices, turn % 3 == 0 ? 0 : 40);
    CHECK(runs_as_written(by_chance(devices, 1 + turn % 9, true, random), costs));
    if (!runs_as_written(by_chance(devices, 2 + turn % 9, false, random), costs)) ++refused;
  }
  CHECK(refused > 100);
}

TEST_CASE("what has to be looked at action by action is not run as written") {
  const Schedule plain = testing::schedule_of({.name = "1f1b", .p = 4, .m = 8});
  const StageCosts costs = uneven(4, 0);
  REQUIRE(runs_as_written(plain, costs));
  Schedule schedule = plain;
  schedule.recompute.emplace_back().last_stage = 3;
  CHECK_FALSE(runs_as_written(schedule, costs));
  schedule = plain;
  schedule.devices[2].actions.pop_back();  // its U
  CHECK_FALSE(runs_as_written(schedule, costs));
  schedule = plain;
  schedule.extra_edges.push_back({action_of(0, Op::kF, 3), action_of(3, Op::kB, 0)});
  CHECK_FALSE(runs_as_written(schedule, costs));
  schedule = plain;
  schedule.microbatch_sizes = {1, 2, 1, 1, 1, 1, 1, 1};
  CHECK_FALSE(runs_as_written(schedule, costs));
  CHECK_FALSE(lower_written(plain, costs, nullptr, {.messages = true}).has_value());
  CHECK_FALSE(lower_written(plain, costs, nullptr, {.global_norm = true}).has_value());
  for (const std::string_view name : {"chimera", "dualpipe", "seq1f1b", "pipedream", "bpipe"}) {
    CAPTURE(name);
    const Schedule other = testing::schedule_of({.name = name, .p = 4, .m = 8});
    CHECK_FALSE(runs_as_written(other, uneven(other.num_stages, 0)));
  }
}

TEST_CASE("lists that wait for each other are not run as written, and the whole program tells why") {
  Schedule schedule = unfolded(testing::schedule_of({.name = "gpipe", .p = 2, .m = 2}));
  std::vector<Action>& actions = schedule.devices[0].actions;
  const auto backward = std::ranges::find_if(actions, [](const Action& action) { return is_backward(action.op); });
  std::rotate(actions.begin(), backward, backward + 1);
  const auto written = lower_written(schedule, uneven(2, 0));
  REQUIRE(written.has_value());
  CHECK_FALSE(run_written(*written).has_value());
  CHECK_THROWS_AS(simulate_summary(schedule, uneven(2, 0)), Error);
}

TEST_CASE("a summary of millions of actions without a steady state has the closed form of its makespan") {
  const testing::Case large{.name = "zb-h1", .p = 512, .m = 1024};
  const Schedule schedule = testing::schedule_of(large);
  const Timeline timeline = simulate_summary(schedule, testing::costs_of(large, schedule));
  // 3 m and (p - 1) (F + I - W): the makespan of ZB-H1 (table 2 of its paper).
  CHECK(testing::in_units(timeline.makespan, timeline.base) == 3.0 * 1024 + 511.0);
  CHECK(timeline ==
        simulate(lower(schedule, testing::costs_of(large, schedule)), {.spans = false, .memory_curve = false}));
}

}  // namespace plumb

TEST_SUITE_END();
