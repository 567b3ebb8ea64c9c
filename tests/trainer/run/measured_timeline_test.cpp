#include "trainer/run/measured_timeline.hpp"
#include "schedules/program/topological_order.hpp"

#include <doctest/doctest.h>

#include "tests/support/complete_timeline.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/plan/run_plan.hpp"
#include "trainer/run/device_report.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// One instr after the other, 10 ns each; every message is said to have been there `late_ns` after the start of what
/// takes it.
std::vector<DeviceReport> reports_of(const RunPlan& plan, Ticks late_ns) {
  const Program& program = plan.program;
  std::vector<Ticks> start(program.size());
  Ticks now = 0;
  for (const InstrIndex at : topological_order(program)) {
    start[at] = now;
    now += 10;
  }
  std::vector<DeviceReport> reports;
  for (std::int32_t device = 0; device < program.num_devices; ++device) {
    DeviceReport& report = reports.emplace_back();
    report.device = DeviceId{device};
    for (InstrIndex at = program.lane_begin[index(report.device)]; at < program.lane_begin[index(report.device) + 1];
         ++at) {
      report.start.push_back(start[at]);
      report.end.push_back(start[at] + 10);
    }
    for (const Transfer& transfer : program.transfers) {
      const Ticks sent = start[transfer.producer] + 10;
      const Ticks there = start[transfer.consumer] + late_ns;
      if (program.channels[transfer.channel].to == report.device) report.received.push_back({sent, there, there});
      if (program.channels[transfer.channel].from == report.device) report.sent.push_back(sent);
    }
    report.collective_ends.assign(program.collectives.size(), -1);
  }
  return reports;
}

}  // namespace

TEST_CASE(
    "what a wait is told too much goes off the largest causes: none is negative, and they add up to the idle time") {
  const TrainOptions options = tiny_run("gpipe", {.num_devices = 2, .num_microbatches = 2, .updates = 1});
  const RunPlan plan(options);
  for (const Ticks late : {0, 5, 1000}) {
    CAPTURE(late);
    const Timeline timeline = measured_timeline(plan, reports_of(plan, late));
    CHECK(timeline.kind == Timeline::Kind::kMeasured);
    testing::check_idle_causes(timeline);
  }
}

}  // namespace plumb

TEST_SUITE_END();
