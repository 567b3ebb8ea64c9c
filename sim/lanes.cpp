#include "sim/lanes.hpp"

#include <algorithm>

#include "sim/idle_causes.hpp"
#include "sim/stash.hpp"
#include "sim/waits.hpp"

namespace plumb {
namespace {

/// One device's lane from begin to end.
class LaneReader {
 public:
  LaneReader(const Program& program, const RunTimes& times, const SimOptions& options, Timeline& timeline)
      : program_(program),
        times_(times),
        options_(options),
        timeline_(timeline),
        causes_(program, times, options),
        stash_(stash_changes(program)) {}

  void read(DeviceId device, std::vector<UpdateMark>& marks) {
    const InstrIndex begin = program_.lane_begin[index(device)];
    const InstrIndex end = program_.lane_begin[index(device) + 1];
    DeviceSummary& summary = timeline_.devices[index(device)];
    const std::size_t first_mark = marks.size();
    std::int64_t stash = 0;
    std::int64_t peak = 0;
    InstrIndex previous = begin;
    for (InstrIndex i = begin; i != end;) {
      const InstrIndex behind = unit_end(program_, i);
      read_unit(device, previous, i, behind);
      for (InstrIndex member = i; member != behind; ++member) {
        stash += std::max<std::int64_t>(0, stash_.by_row[program_.instrs[member].row]);
      }
      peak = std::max(peak, stash);
      for (InstrIndex member = i; member != behind; ++member) {
        stash += std::min<std::int64_t>(0, stash_.by_row[program_.instrs[member].row]);
        mark(device, member, first_mark, marks);
      }
      previous = i;
      i = behind;
    }
    summary.peak_activations = stash_.in_units(peak);
    if (begin != end) summary.last_end = times_.end[end - 1];
  }

 private:
  void read_unit(DeviceId device, InstrIndex previous, InstrIndex i, InstrIndex behind) {
    DeviceSummary& summary = timeline_.devices[index(device)];
    const Ticks start = times_.start[i];
    const Ticks end = times_.end[i];
    Ticks idle = 0;
    IdleCause cause = IdleCause::kCompute;
    if (previous == i) {
      summary.first_start = start;
      idle = start;
      cause = IdleCause::kWarmup;
    } else if (start > times_.end[previous]) {
      idle = start - times_.end[previous];
      if (options_.idle_causes) {
        cause = causes_.add_gap(previous, i, behind, times_.end[previous], summary.idle_causes);
      }
    }
    summary.busy += end - start;
    summary.useful += useful_share(program_, program_.instrs[i].row, end - start);
    if (!options_.spans) return;
    for (InstrIndex member = i; member != behind; ++member) {
      timeline_.spans.push_back({.action = program_.instrs[member].action,
                                 .device = device,
                                 .waited_for = cause,
                                 .start = start,
                                 .end = end,
                                 .idle_before = member == i ? idle : 0});
    }
  }

  /// Notes an update, and that those before a forward had it ahead of them.
  void mark(DeviceId device, InstrIndex i, std::size_t first_mark, std::vector<UpdateMark>& marks) const {
    const Op op = program_.rows[program_.instrs[i].row].op;
    if (op == Op::kF) {
      for (std::size_t m = marks.size(); m-- > first_mark && !marks[m].forward_ahead;) marks[m].forward_ahead = true;
    } else if (op == Op::kU) {
      const auto update = static_cast<std::int64_t>(program_.instrs[i].action.microbatch);
      const bool same = marks.size() > first_mark && marks.back().update == update;
      if (!same) marks.push_back({.device = device, .update = update});
      marks.back().end = times_.end[i];
      marks.back().useful = timeline_.devices[index(device)].useful;
    }
  }

  const Program& program_;
  const RunTimes& times_;
  const SimOptions& options_;
  Timeline& timeline_;
  IdleCauses causes_;
  StashChanges stash_;
};

std::vector<std::vector<Span>> transfer_spans(const Program& program, const RunTimes& times) {
  std::vector<std::vector<Span>> spans(static_cast<std::size_t>(program.num_devices));
  for (std::size_t t = 0; t < program.transfers.size(); ++t) {
    const Transfer& transfer = program.transfers[t];
    const Channel& channel = program.channels[transfer.channel];
    Action action = program.instrs[transfer.producer].action;
    action.op = transfer.op;
    action.overlaps_next = 0;
    action.where = static_cast<std::int16_t>(channel.to);
    spans[index(channel.from)].push_back({.action = action,
                                          .device = channel.from,
                                          .lane = Lane::kTransfer,
                                          .start = times.transfers[t].start,
                                          .end = times.transfers[t].done});
  }
  return spans;
}

void add_collective_spans(const Program& program, const RunTimes& times, std::vector<std::vector<Span>>& spans) {
  for (std::size_t c = 0; c < program.collectives.size(); ++c) {
    for (const InstrIndex member : program.collectives[c].members) {
      const Instr& instr = program.instrs[member];
      const DeviceId device = program.holders[program.rows[instr.row].holder].device;
      const Ticks end = times.collective_end[c];
      spans[index(device)].push_back({.action = instr.action,
                                      .device = device,
                                      .lane = Lane::kCollective,
                                      .start = end - program.collectives[c].duration,
                                      .end = end});
    }
  }
}

/// Puts the other lanes' spans of a device between those of its compute lane, which start at `first`.
void merge_spans(std::vector<Span>& spans, std::size_t first, std::vector<Span>& others) {
  const auto by_start = [](const Span& a, const Span& b) { return a.start < b.start; };
  std::ranges::stable_sort(others, by_start);
  const auto middle = static_cast<std::ptrdiff_t>(spans.size());
  spans.insert(spans.end(), others.begin(), others.end());
  std::inplace_merge(spans.begin() + static_cast<std::ptrdiff_t>(first), spans.begin() + middle, spans.end(), by_start);
}

}  // namespace

Ticks useful_share(const Program& program, std::size_t row, Ticks duration) {
  const Op op = program.rows[row].op;
  if (op == Op::kR || op == Op::kX) return 0;
  if (program.folded_recompute.empty() || program.folded_recompute[row] == 0) return duration;
  // Jitter stretches both parts alike.
  const double share = static_cast<double>(program.folded_recompute[row]) / static_cast<double>(program.durations[row]);
  if (duration == program.durations[row]) return duration - program.folded_recompute[row];
  return duration - static_cast<Ticks>(share * static_cast<double>(duration));
}

std::vector<UpdateMark> fill_lanes(const Program& program, const RunTimes& times, const SimOptions& options,
                                   Timeline& timeline) {
  std::vector<UpdateMark> marks;
  timeline.makespan = times.makespan;
  timeline.devices.assign(static_cast<std::size_t>(program.num_devices), {});
  if (options.spans) timeline.spans.reserve(program.size() + program.transfers.size());
  std::vector<std::vector<Span>> others(timeline.devices.size());
  if (options.spans && !program.transfers.empty()) others = transfer_spans(program, times);
  if (options.spans) add_collective_spans(program, times, others);
  LaneReader reader(program, times, options, timeline);
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const std::size_t first = timeline.spans.size();
    reader.read(DeviceId{static_cast<std::int32_t>(d)}, marks);
    if (!others[d].empty()) merge_spans(timeline.spans, first, others[d]);
    DeviceSummary& device = timeline.devices[d];
    if (!options.idle_causes) continue;
    device.idle_causes[static_cast<std::size_t>(IdleCause::kWarmup)] = device.first_start;
    device.idle_causes[static_cast<std::size_t>(IdleCause::kDrain)] = timeline.makespan - device.last_end;
  }
  return marks;
}

}  // namespace plumb
