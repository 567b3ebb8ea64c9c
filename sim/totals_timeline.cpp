#include "sim/totals_timeline.hpp"

#include <algorithm>

#include "sim/memory/stash.hpp"

namespace plumb {
namespace {

void fill_causes(DeviceSummary& device, Ticks makespan, Ticks latency) {
  const auto cause = [&](IdleCause which) -> Ticks& { return device.idle_causes[static_cast<std::size_t>(which)]; };
  cause(IdleCause::kWarmup) = device.first_start;
  cause(IdleCause::kDrain) = makespan - device.last_end;
  cause(IdleCause::kTransferLatency) = latency;
  cause(IdleCause::kCompute) = device.last_end - device.first_start - device.busy - latency;
}

}  // namespace

Timeline empty_timeline(const Program& program) {
  Timeline timeline;
  timeline.base = program.base;
  timeline.num_microbatches = program.num_microbatches;
  timeline.updates = count_updates(program.num_microbatches, program.microbatches_per_update, program.forward_only);
  return timeline;
}

std::vector<UpdateMark> fill_from_totals(const Program& program, std::span<const LaneTotals> lanes,
                                         const SimOptions& options, Timeline& timeline) {
  const StashChanges stash = stash_changes(program);
  std::vector<UpdateMark> marks;
  for (const LaneTotals& lane : lanes) timeline.makespan = std::max(timeline.makespan, lane.last_end);
  for (const LaneTotals& lane : lanes) {
    const auto device = DeviceId{static_cast<std::int32_t>(timeline.devices.size())};
    DeviceSummary& summary = timeline.devices.emplace_back();
    summary.busy = lane.busy;
    summary.useful = lane.useful;
    summary.first_start = lane.first_start;
    summary.last_end = lane.last_end;
    summary.peak_activations = stash.in_units(lane.peak_stash);
    if (options.idle_causes) fill_causes(summary, timeline.makespan, lane.latency);
    if (lane.last_update < 0) continue;
    marks.push_back({.device = device, .update = 0, .end = lane.first_update});
    marks.push_back({.device = device, .update = timeline.updates - 1, .end = lane.last_update});
  }
  return marks;
}

}  // namespace plumb
