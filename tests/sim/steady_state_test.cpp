#include "sim/steady_state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using testing::Case;

/// The summary by unfolding everything.
Timeline the_long_way(const Schedule& schedule, const StageCosts& costs) {
  return simulate(lower(schedule, costs), {.spans = false, .memory_curve = false});
}

/// It says something about single microbatches, which do not come again, or its stages update at different paces.
bool goes_the_long_way(const Schedule& schedule) {
  const auto named = [](const Recompute& rule) { return !rule.microbatches.empty(); };
  return schedule.microbatches_per_update.size() > 1 || !schedule.extra_edges.empty() ||
         std::ranges::any_of(schedule.recompute, named);
}

/// Whether a summary equals that of the long way in every field, and, where it must be, was found by jumping.
void check_jump(const Schedule& schedule, const StageCosts& costs, bool must_jump = true) {
  if (must_jump) CHECK(fold(schedule, 4, 1).has_value() != goes_the_long_way(schedule));
  const Timeline expected = the_long_way(schedule, costs);
  const Timeline found = simulate_summary(schedule, costs);
  CHECK(found.makespan == expected.makespan);
  CHECK(found.step_time == expected.step_time);
  CHECK(found == expected);
}

StageCosts unequal(std::int32_t num_stages, Ticks comm) {
  StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = num_stages});
  for (std::size_t s = 0; s < costs.times.size(); ++s) {
    const auto k = static_cast<Ticks>(s);
    costs.times[s].f = 100 + 17 * ((k * 7) % 5);
    costs.times[s].i = 120 + 11 * ((k * 5) % 7);
    costs.times[s].w = 80 + 13 * ((k * 3) % 4);
    costs.times[s].b = costs.times[s].i + costs.times[s].w;
    costs.times[s].u = 5;
  }
  costs.comm = comm;
  return costs;
}

}  // namespace

TEST_CASE("jumping over the steady state gives the answer of the long way for every schedule given by rule") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!spec.folds) continue;
    for (const std::int32_t p : {2, 4}) {
      for (const Ticks comm : {Ticks{0}, Ticks{30}}) {
        for (const std::int64_t m : {240, 300 + p}) {
          CAPTURE(spec.name);
          CAPTURE(p);
          CAPTURE(comm);
          CAPTURE(m);
          const Schedule schedule = testing::schedule_of({.name = spec.name, .p = p, .m = m / p * p, .updates = 1});
          // On two devices some loops degenerate; the directions of dualpipe number their microbatches in ranges of
          // their own, which would have to be cut apart.
          const bool must_jump = p == 4 && spec.name != "dualpipe";
          check_jump(schedule, unequal(schedule.num_stages, comm), must_jump);
          check_jump(schedule, abstract_costs("F=1,B=2,comm=0.1", "", {.num_stages = schedule.num_stages}), must_jump);
        }
      }
    }
  }
}

TEST_CASE("whole updates are jumped over, with and without a steady state inside each of them") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int64_t m : {4, 120}) {
      CAPTURE(spec.name);
      CAPTURE(m);
      const Schedule schedule =
          testing::schedule_of({.name = spec.name, .p = m == 4 ? 2 : 4, .m = m, .updates = m == 4 ? 100 : 30});
      // Forward pipelines update nothing; extra work is numbered through all updates.
      check_jump(schedule, unequal(schedule.num_stages, 30), !schedule.forward_only && schedule.extras.empty());
    }
  }
}

TEST_CASE("overlapped pairs and options of the generators are jumped over") {
  const std::vector<Case> cases = {
      {.name = "pipemare", .p = 4, .m = 1, .updates = 400, .options = {{"timing", "slots"}}},
      {.name = "pipedream", .p = 3, .m = 5, .updates = 90, .options = {{"timing", "slots"}}},
      {.name = "gpipe", .p = 4, .m = 300, .options = {{"order", "fifo"}}},
      {.name = "interleaved", .p = 4, .m = 300, .chunks = 3, .options = {{"group", "6"}}},
      {.name = "interleaved", .p = 4, .m = 307, .chunks = 2, .options = {{"group", "7"}}},
      {.name = "chimera", .p = 4, .m = 240, .options = {{"pipelines", "2"}}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const Schedule schedule = testing::schedule_of(c);
    check_jump(schedule, unequal(schedule.num_stages, 30));
    check_jump(schedule, unequal(schedule.num_stages, 0));
  }
}

TEST_CASE("peaks in abstract memory grow over what is jumped over") {
  const Schedule schedule = testing::schedule_of({.name = "gpipe", .p = 3, .m = 200});
  check_jump(schedule, abstract_costs("F=1,I=1,W=1", "F=2,I=-1,W=-1", {.num_stages = 3}));
}

TEST_CASE("a billion microbatches take as long as their closed forms say, though nothing could unfold them") {
  const std::int64_t m = 1'000'000'000;
  const auto makespan = [&](std::string_view name) {
    const Case c{.name = name, .p = 4, .m = m, .chunks = 1, .updates = 1};
    const Schedule schedule = testing::schedule_of(c);
    const Timeline timeline = simulate_summary(schedule, testing::costs_of(c, schedule));
    return testing::in_units(timeline.makespan, timeline.base);
  };
  CHECK(makespan("gpipe") == 3.0 * (m + 3));
  CHECK(makespan("1f1b") == 3.0 * (m + 3));
  CHECK(makespan("interleaved") == 3.0 * (m + 3));
  CHECK(makespan("zb-h1") == 3.0 * m + 3.0 * (1 + 1 - 1));
  CHECK(makespan("pipedream") == 3.0 * (m + 3));
  CHECK(makespan("pipemare") == 3.0 * (m + 3));
  CHECK(makespan("chimera") == 3.0 * m + (m / 4 + 1) * 2.0);
}

TEST_CASE("a schedule that says something about single microbatches is not folded") {
  Schedule schedule = testing::schedule_of({.name = "1f1b", .p = 2, .m = 300});
  REQUIRE(fold(schedule, 4, 1).has_value());
  schedule.recompute.emplace_back().microbatches = {17};
  CHECK_FALSE(fold(schedule, 4, 1).has_value());
}

}  // namespace plumb

TEST_SUITE_END();
