#include "trainer/run/measured_timeline.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schedules/program/waits.hpp"
#include "schedules/versions/delays.hpp"
#include "sim/lanes/idle_causes.hpp"
#include "sim/lanes/lanes.hpp"
#include "sim/lanes/metrics.hpp"
#include "trainer/ground/machine_description.hpp"

namespace plumb {
namespace {

/// Reductions as they were: from the last member's joining to the sum being there.
void measure_collectives(Program& program, const RunTimes& times) {
  for (std::size_t c = 0; c < program.collectives.size(); ++c) {
    Ticks joined = 0;
    for (const InstrIndex member : program.collectives[c].members) joined = std::max(joined, times.start[member]);
    program.collectives[c].duration = std::max<Ticks>(0, times.collective_end[c] - joined);
  }
}

void fill_idle_causes(Timeline& timeline) {
  for (DeviceSummary& device : timeline.devices) {
    auto& causes = device.idle_causes;
    causes[static_cast<std::size_t>(IdleCause::kWarmup)] = device.first_start;
    causes[static_cast<std::size_t>(IdleCause::kDrain)] = timeline.makespan - device.last_end;
    const Ticks told = std::accumulate(causes.begin(), causes.end(), Ticks{0});
    Ticks rest = timeline.makespan - device.busy - told;
    // A wait may seem to have ended after the start of what waited: threads note both. What is told too much goes off
    // the largest causes.
    while (rest < 0) {
      Ticks& largest = *std::ranges::max_element(causes);
      const Ticks off = std::min(largest, -rest);
      largest -= off;
      rest += off;
    }
    causes[static_cast<std::size_t>(IdleCause::kOverhead)] += rest;
  }
}

/// Gaps that the rules explain less than half of are waits for the runtime itself.
void name_overhead(const ProgramIndex& indexed, const RunTimes& times, Timeline& timeline) {
  const Program& program = indexed.program();
  const SimOptions options;
  const IdleCauses rules(indexed, times, options);
  auto span = timeline.spans.begin();
  for (std::size_t device = 0; device + 1 < program.lane_begin.size(); ++device) {
    const InstrIndex begin = program.lane_begin[device];
    InstrIndex previous = begin;
    for (InstrIndex at = begin; at < program.lane_begin[device + 1];) {
      const InstrIndex end = unit_end(program, at);
      while (span->lane != Lane::kCompute) ++span;
      if (at > begin && span->idle_before > 0) {
        CauseTimes gap{};
        rules.add_gap(previous, at, end, times.end[previous], gap);
        const Ticks told = std::accumulate(gap.begin(), gap.end(), Ticks{0});
        if (2 * told < span->idle_before) span->waited_for = IdleCause::kOverhead;
      }
      for (InstrIndex member = at; member < end; ++member) {
        while (span->lane != Lane::kCompute) ++span;
        ++span;
      }
      previous = at;
      at = end;
    }
  }
}

/// The versions that passes read, in the order of their lanes.
void put_versions_read(std::span<const DeviceReport> reports, Program& program) {
  for (const DeviceReport& report : reports) {
    const auto lane = index(report.device);
    auto read = report.versions.begin();
    for (InstrIndex at = program.lane_begin[lane]; at < program.lane_begin[lane + 1]; ++at) {
      if (program.version_read[at] < 0 || read == report.versions.end()) continue;
      program.version_read[at] = read++->version;
    }
  }
}

}  // namespace

Timeline measured_timeline(const RunPlan& plan, std::span<const DeviceReport> reports) {
  Program program = plan.program;
  RunTimes times = run_times(program, reports);
  SimOptions rules;
  if (plan.options.execution.pace) rules.transfers = plan.options.execution.pace->transfers;
  if (plan.options.execution.pace || plan.options.execution.clock == ClockKind::kProcessor) {
    times.sent_at.clear();  // who sends waits as long as the message is sent
  }
  measure_collectives(program, times);
  Timeline timeline;
  timeline.kind = Timeline::Kind::kMeasured;
  timeline.schedule = plan.options.schedule.name;
  timeline.machine = machine_description();
  timeline.base = program.base;
  timeline.num_microbatches = program.num_microbatches;
  timeline.updates = plan.document_updates;
  const ProgramIndex indexed(program);
  const auto marks = fill_lanes(indexed, times, rules, timeline);
  fill_idle_causes(timeline);
  name_overhead(indexed, times, timeline);
  for (const DeviceReport& report : reports) {
    DeviceSummary& summary = timeline.devices[index(report.device)];
    summary.peak_memory_bytes = report.peak_memory_bytes;
    summary.peak_memory_by_class = report.peak_memory_by_class;
    timeline.memory.points.insert(timeline.memory.points.end(), report.memory.begin(), report.memory.end());
    timeline.memory.ends.push_back(timeline.memory.points.size());
  }
  fill_metrics(timeline, program.work, program.asynchronous, marks);
  if (program.version_read.empty()) return timeline;
  put_versions_read(reports, program);
  timeline.delays = stage_delays(plan.options.schedule, program);
  return timeline;
}

}  // namespace plumb
