#include <iostream>

#include <models/sources/abstract_costs.hpp>
#include <schedules/catalogue/registry.hpp>
#include <schedules/lowering/lower.hpp>
#include <sim/simulate.hpp>

int main() {
  const plumb::Schedule schedule = plumb::generate("1f1b", {.num_devices = 4, .num_microbatches = 8});
  const plumb::StageCosts costs = plumb::abstract_costs("F=1,B=2", "", {.num_stages = schedule.num_stages});
  const plumb::Timeline timeline = plumb::simulate(plumb::lower(schedule, costs));
  std::cout << plumb::to_ns(timeline.makespan, timeline.base) << '\n';  // (m + p - 1) x 3 ms
  return plumb::to_ns(timeline.makespan, timeline.base) == 33'000'000 ? 0 : 1;
}
