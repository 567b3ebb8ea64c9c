// A schedule of one's own through the C++ API: two microbatches at a time, forwards and backwards in turn. Prints its
// document, and on standard error what the simulator says about it.
//
//     plumbline simulate build/release/tools/own_schedule -p 4 -m 8 --cost F=1,B=2
//     build/release/tools/own_schedule -p 4 -m 8 > own.json

#include <cstdlib>
#include <iostream>
#include <string>

#include <plumbline/models.hpp>
#include <plumbline/schedules.hpp>
#include <plumbline/sim.hpp>

namespace {

/// Stage d on device d; twos of microbatches go down and come back before the next two start.
plumb::Schedule in_twos(int p, int m) {
  plumb::Schedule schedule;
  schedule.name = "in-twos";
  schedule.num_devices = schedule.num_stages = p;
  schedule.num_microbatches = m;
  schedule.microbatches_per_update = {m};
  schedule.placement.resize(1);
  for (int d = 0; d < p; ++d) {
    const plumb::StageId stage{d};
    schedule.placement[0].push_back({plumb::DeviceId{d}});
    plumb::ListBuilder list;
    list.repeat(m / 2, {.microbatch = 2}, [&] {
      for (const plumb::Op op : {plumb::Op::kF, plumb::Op::kB}) {
        list.add(stage, op, 0);
        list.add(stage, op, 1);
      }
    });
    list.add(stage, plumb::Op::kU, 0);
    schedule.devices.push_back(list.take());
  }
  return schedule;
}

}  // namespace

int main(int argc, char** argv) {
  int p = 2;
  int m = 4;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "-p") p = std::atoi(argv[i + 1]);
    if (option == "-m") m = std::atoi(argv[i + 1]);
  }
  if (p < 1 || m < 2 || m % 2 != 0) {
    std::cerr << "expected -p of at least 1 and an even -m\n";
    return 2;
  }
  const plumb::Schedule schedule = in_twos(p, m);
  for (const plumb::Violation& violation : plumb::validate(schedule)) std::cerr << plumb::to_string(violation) << '\n';
  const plumb::StageCosts costs = plumb::abstract_costs("F=1,B=2", "", {.num_stages = p});
  const plumb::Timeline timeline = plumb::simulate(plumb::lower(schedule, costs));
  std::cerr << "bubble " << 100 * timeline.bubble_fraction << " %\n";
  std::cout << plumb::schedule_to_json(schedule);
}
