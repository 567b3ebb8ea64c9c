#include "sim/lanes.hpp"

#include <algorithm>

#include "models/huge_pages.hpp"
#include "sim/waits.hpp"

namespace plumb {
namespace {

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

LaneReader::LaneReader(const Program& program, const RunTimes& times, const SimOptions& options, Timeline& timeline)
    : program_(program),
      times_(times),
      options_(options),
      timeline_(timeline),
      causes_(program, times, options),
      stash_(stash_changes(program)) {
  timeline.devices.assign(static_cast<std::size_t>(program.num_devices), {});
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) places_.emplace_back().next = program.lane_begin[d];
}

void LaneReader::read(std::size_t lane, InstrIndex until) {
  Place& place = places_[lane];
  DeviceSummary& summary = timeline_.devices[lane];
  const DeviceId device{static_cast<std::int32_t>(lane)};
  for (InstrIndex i = place.next; i != until;) {
    const InstrIndex behind = unit_end(program_, i);
    read_unit(device, place, i, behind);
    for (InstrIndex member = i; member != behind; ++member) {
      place.stash += std::max<std::int64_t>(0, stash_.by_row[program_.instrs[member].row]);
    }
    place.peak_stash = std::max(place.peak_stash, place.stash);
    for (InstrIndex member = i; member != behind; ++member) {
      place.stash += std::min<std::int64_t>(0, stash_.by_row[program_.instrs[member].row]);
      mark(device, place, member);
    }
    place.previous = i;
    place.started = true;
    place.next = i = behind;
    summary.last_end = times_.end[behind - 1];
  }
  summary.peak_activations = stash_.in_units(place.peak_stash);
}

void LaneReader::read_unit(DeviceId device, const Place& place, InstrIndex i, InstrIndex behind) {
  DeviceSummary& summary = timeline_.devices[index(device)];
  const Ticks start = times_.start[i];
  const Ticks end = times_.end[i];
  Ticks idle = 0;
  IdleCause cause = IdleCause::kCompute;
  if (!place.started) {
    summary.first_start = start;
    idle = start;
    cause = IdleCause::kWarmup;
  } else if (start > times_.end[place.previous]) {
    idle = start - times_.end[place.previous];
    if (options_.idle_causes) {
      cause = causes_.add_gap(place.previous, i, behind, times_.end[place.previous], summary.idle_causes);
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
void LaneReader::mark(DeviceId device, Place& place, InstrIndex i) const {
  std::vector<UpdateMark>& marks = place.marks;
  const Op op = program_.rows[program_.instrs[i].row].op;
  if (op == Op::kF) {
    for (std::size_t m = marks.size(); m-- > 0 && !marks[m].forward_ahead;) marks[m].forward_ahead = true;
  } else if (op == Op::kU) {
    const auto update = static_cast<std::int64_t>(program_.instrs[i].action.microbatch);
    const bool same = !marks.empty() && marks.back().update == update;
    if (!same) marks.push_back({.device = device, .update = update});
    marks.back().end = times_.end[i];
    marks.back().useful = timeline_.devices[index(device)].useful;
  }
}

std::vector<UpdateMark> LaneReader::marks() const {
  std::vector<UpdateMark> all;
  for (const Place& place : places_) all.insert(all.end(), place.marks.begin(), place.marks.end());
  return all;
}

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
  timeline.makespan = times.makespan;
  LaneReader reader(program, times, options, timeline);
  if (options.spans) reserve_huge(timeline.spans, program.size() + program.transfers.size());
  std::vector<std::vector<Span>> others(timeline.devices.size());
  if (options.spans && !program.transfers.empty()) others = transfer_spans(program, times);
  if (options.spans) add_collective_spans(program, times, others);
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const std::size_t first = timeline.spans.size();
    reader.read(d, program.lane_begin[d + 1]);
    if (!others[d].empty()) merge_spans(timeline.spans, first, others[d]);
    DeviceSummary& device = timeline.devices[d];
    if (!options.idle_causes) continue;
    device.idle_causes[static_cast<std::size_t>(IdleCause::kWarmup)] = device.first_start;
    device.idle_causes[static_cast<std::size_t>(IdleCause::kDrain)] = timeline.makespan - device.last_end;
  }
  return reader.marks();
}

}  // namespace plumb
