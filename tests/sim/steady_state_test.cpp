#include "sim/steady_state.hpp"

#include <doctest/doctest.h>

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

/// Whether a summary was found by jumping, and equals that of the long way in every field.
void check_jump(const Schedule& schedule, const StageCosts& costs) {
  const auto folded = fold(schedule, 32, 1);
  CHECK(folded.has_value());
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

TEST_CASE("jumping over the steady state gives the answer of the long way for every schedule of the catalogue") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {2, 4}) {
      for (const Ticks comm : {Ticks{0}, Ticks{30}}) {
        for (const std::int64_t m : {960, 961 - 1 + p}) {
          CAPTURE(spec.name);
          CAPTURE(p);
          CAPTURE(comm);
          CAPTURE(m);
          const Schedule schedule = testing::schedule_of({.name = spec.name, .p = p, .m = m, .updates = 1});
          check_jump(schedule, unequal(schedule.num_stages, comm));
          check_jump(schedule, abstract_costs("F=1,B=2,comm=0.1", "", {.num_stages = schedule.num_stages}));
        }
      }
    }
  }
}

TEST_CASE("whole updates are jumped over, with and without a steady state inside each of them") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int64_t m : {4, 600}) {
      CAPTURE(spec.name);
      CAPTURE(m);
      const Schedule schedule =
          testing::schedule_of({.name = spec.name, .p = 4, .m = m, .updates = m == 4 ? 200 : 150});
      check_jump(schedule, unequal(schedule.num_stages, 30));
    }
  }
}

}  // namespace plumb

TEST_SUITE_END();
