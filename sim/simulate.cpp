#include "sim/simulate.hpp"

#include "models/ground/huge_pages.hpp"
#include "sim/critical_path.hpp"
#include "sim/lanes/lanes.hpp"
#include "sim/lanes/metrics.hpp"
#include "sim/memory/memory.hpp"
#include "sim/passes/plain_passes.hpp"
#include "sim/run_program.hpp"
#include "sim/totals_timeline.hpp"

namespace plumb {
namespace {

/// Whether totals per lane are all that is asked for. Steady utilization needs every update.
bool totals_suffice(const Program& program, const SimOptions& options) {
  const bool curve = options.memory_curve && knows_bytes(program);
  return !options.spans && !curve && !program.asynchronous && program.moves.empty() && has_plain_waits_only(program);
}

/// Runs the program, and fills the lanes and the critical path. The lists of its index are freed here: beside the
/// memory curve, which is the largest, they would raise the peak.
RunTimes run_and_fill_lanes(const Program& program, const SimOptions& options, Timeline& timeline,
                            std::vector<UpdateMark>& marks) {
  const ProgramIndex indexed(program);
  RunTimes times = run_program(indexed, options);
  marks = fill_lanes(indexed, times, options, timeline);
  if (options.spans && options.critical_path) {
    timeline.critical_path = critical_shares(program, critical_path(indexed, times, options));
  }
  return times;
}

/// Points of a memory curve for which room is made: more are rare.
constexpr std::size_t kPointsPerInstr = 4;

void fill_memory(const Program& program, const RunTimes* times, const SimOptions& options, Timeline& timeline) {
  const MemoryModel model(program);
  if (options.memory_curve && times != nullptr) reserve_huge(timeline.memory.points, kPointsPerInstr * program.size());
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const DeviceId device{static_cast<std::int32_t>(d)};
    DeviceSummary& summary = timeline.devices[d];
    const bool curve = options.memory_curve && times != nullptr;
    const MemoryPeak peak = curve ? model.append_curve(device, *times, timeline.memory.points) : model.peak(device);
    if (curve) timeline.memory.ends.push_back(timeline.memory.points.size());
    summary.peak_memory_bytes = peak.bytes;
    summary.peak_memory_by_class = peak.by_class;
    if (options.peak_composition) summary.peak_tensors = model.composition(device, peak);
  }
}

}  // namespace

Timeline simulate(const Program& program, const SimOptions& options) {
  Timeline timeline = empty_timeline(program);
  std::vector<UpdateMark> marks;
  if (options.engine != EngineChoice::kEvent && totals_suffice(program, options)) {
    if (const auto lanes = run_totals(program)) marks = fill_from_totals(program, *lanes, options, timeline);
  }
  if (timeline.devices.empty()) {
    const RunTimes times = run_and_fill_lanes(program, options, timeline, marks);
    if (knows_bytes(program)) fill_memory(program, &times, options, timeline);
  } else if (knows_bytes(program)) {
    fill_memory(program, nullptr, options, timeline);
  }
  fill_metrics(timeline, program.work, program.asynchronous, marks);
  return timeline;
}

}  // namespace plumb
