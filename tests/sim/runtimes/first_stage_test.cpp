#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "sim/simulate.hpp"
#include "tests/support/numbered_backwards.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

struct RunByTorch {
  StageCosts costs;
  Ticks makespan = 0;
};

RunByTorch run_by_torch(Schedule schedule) {
  RunByTorch run{.costs = abstract_costs("F=1,I=2,W=4,comm=1", "", {.num_stages = schedule.num_stages})};
  const RuntimePreset& preset = runtime_preset("pytorch", schedule);
  run_as(preset, schedule, run.costs);
  SimOptions options;
  options.transfers = preset.transfers;
  run.makespan = simulate(lower(schedule, run.costs, nullptr, lowering_of(preset)), options).makespan;
  return run;
}

}  // namespace

TEST_CASE("§4.10: PyTorch leaves out the I of the stage that data comes in by, whatever its number") {
  const Schedule schedule = generate("zb-h1", {.num_devices = 3, .num_microbatches = 6});
  const RunByTorch along = run_by_torch(schedule);
  const RunByTorch against = run_by_torch(numbered_backwards(schedule));
  REQUIRE(along.costs.times[1].i > 0);
  CHECK(along.costs.times[0].i == 0);
  CHECK(along.costs.times[0].w == along.costs.times[1].i + along.costs.times[1].w);
  for (const std::size_t stage : {0, 1, 2}) CHECK(against.costs.times[stage] == along.costs.times[2 - stage]);
  CHECK(against.makespan == along.makespan);
}

}  // namespace plumb::testing

TEST_SUITE_END();
