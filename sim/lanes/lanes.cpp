#include "sim/lanes/lanes.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "models/ground/huge_pages.hpp"
#include "schedules/program/index_lists.hpp"
#include "schedules/program/waits.hpp"
#include "sim/rules/jitter.hpp"
#include "sim/rules/load_kinds.hpp"

namespace plumb {
namespace {

/// What stands on the other lanes of one device, in order of start.
class OtherSpans {
 public:
  OtherSpans(const Program& program, const RunTimes& times)
      : program_(program),
        times_(times),
        channels_from_(group_by(program.channels.size(), static_cast<std::size_t>(program.num_devices),
                                [&](std::size_t c) { return index(program.channels[c].from); })),
        by_channel_(group_by(program.transfers.size(), program.channels.size(),
                             [&](std::size_t t) { return program.transfers[t].channel; })) {}

  std::vector<Span> of(DeviceId device) const {
    std::vector<Span> spans;
    for (const std::uint32_t c : channels_from_.of(index(device))) {
      const auto middle = std::ssize(spans);
      for (const std::uint32_t t : by_channel_.of(c)) spans.push_back(transfer_span(t));
      sort_in(spans, middle);
    }
    const auto middle = std::ssize(spans);
    for (std::size_t c = 0; c < program_.collectives.size(); ++c) add_collective(c, device, spans);
    sort_in(spans, middle);
    return spans;
  }

 private:
  static bool starts_first(const Span& a, const Span& b) { return a.start < b.start; }

  /// Sorts what is after `middle`, mostly in order already, in between what is before it.
  static void sort_in(std::vector<Span>& spans, std::ptrdiff_t middle) {
    const auto at = spans.begin() + middle;
    if (!std::is_sorted(at, spans.end(), starts_first)) std::stable_sort(at, spans.end(), starts_first);
    if (middle != 0) std::inplace_merge(spans.begin(), at, spans.end(), starts_first);
  }

  Span transfer_span(std::uint32_t t) const {
    const Transfer& transfer = program_.transfers[t];
    const Channel& channel = program_.channels[transfer.channel];
    Action action = program_.instrs[transfer.producer].action;
    action.op = program_.op_of(t);
    action.overlaps_next = 0;
    if (!program_.is_move(t)) action.where = static_cast<std::int16_t>(channel.to);
    return {.action = action,
            .device = channel.from,
            .lane = Lane::kTransfer,
            .start = times_.transfers[t].start,
            .end = times_.transfers[t].done};
  }

  void add_collective(std::size_t c, DeviceId device, std::vector<Span>& spans) const {
    for (const InstrIndex member : program_.collectives[c].members) {
      const Instr& instr = program_.instrs[member];
      if (program_.holders[program_.rows[instr.row].holder].device != device) continue;
      const Ticks end = times_.collective_end[c];
      spans.push_back({.action = instr.action,
                       .device = device,
                       .lane = Lane::kCollective,
                       .start = end - program_.collectives[c].duration,
                       .end = end});
    }
  }

  const Program& program_;
  const RunTimes& times_;
  IndexLists channels_from_;
  IndexLists by_channel_;
};

/// Puts the spans of the other lanes between those of the compute lane, which are in `spans` from `first` on. Of spans
/// that start together those of the compute lane come first.
void merge_spans(std::vector<Span>& spans, std::size_t first, const std::vector<Span>& others) {
  std::size_t from = spans.size();
  std::size_t other = others.size();
  spans.resize(from + other);
  for (std::size_t to = spans.size(); other > 0; --to) {
    const bool take_other = from == first || others[other - 1].start >= spans[from - 1].start;
    spans[to - 1] = take_other ? others[--other] : spans[--from];
  }
}

}  // namespace

LaneReader::LaneReader(const ProgramIndex& indexed, const RunTimes& times, const SimOptions& options,
                       Timeline& timeline)
    : program_(indexed.program()),
      times_(times),
      options_(options),
      timeline_(timeline),
      contended_(is_contended(program_)),
      causes_(indexed, times, options),
      stash_(stash_changes(program_)) {
  const Program& program = program_;
  timeline.devices.assign(static_cast<std::size_t>(program.num_devices), {});
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) places_.emplace_back().next = program.lane_begin[d];
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    const Op op = program.rows[row].op;
    const Ticks duration = program.durations[row];
    rows_.push_back({.duration = duration,
                     .not_useful = duration - useful_share(program, row, duration),
                     .stash_at_start = stash_.at_start[row],
                     .stash_at_end = stash_.at_end[row],
                     .forward = op == Op::kF,
                     .update = op == Op::kU});
    has_pairs_ = has_pairs_ || program.rows[row].overlapped;
  }
  if (options.spans && options.stash_curve) timeline.stashes.devices.assign(timeline.devices.size(), {});
  find_guests();
}

void LaneReader::find_guests() {
  guests_.resize(places_.size());
  for (const Move& move : program_.moves) {
    const Transfer& transfer = program_.transfers[move.transfer];
    if (move.guest == Move::kHost || program_.op_of(move.transfer) != Op::kEvict) continue;
    const std::int64_t stash = -facts(transfer.issue).stash_at_end;
    guests_[index(move.guest)].emplace_back(move.held_from, stash);
    guests_[index(move.guest)].emplace_back(move.held_until, -stash);
  }
  for (auto& changes : guests_) std::ranges::sort(changes);
}

/// Whether every instr of the lane is a unit of its own whose row and times say all about it.
bool LaneReader::stands_alone(std::size_t lane) const {
  return !contended_ && !has_pairs_ && guests_[lane].empty() && timeline_.stashes.devices.empty();
}

void LaneReader::read(std::size_t lane, InstrIndex until) {
  if (stands_alone(lane)) return read_alone(lane, until);
  Place& place = places_[lane];
  const DeviceId device{static_cast<std::int32_t>(lane)};
  for (InstrIndex i = place.next; i != until;) {
    const InstrIndex end = unit_end(program_, i);
    read_unit(device, place, i, end);
    place.previous = i;
    place.started = true;
    place.next = i = end;
  }
  timeline_.devices[lane].peak_activations = stash_.in_units(place.peak_stash);
}

void LaneReader::read_unit(DeviceId device, Place& place, InstrIndex i, InstrIndex end) {
  DeviceSummary& summary = timeline_.devices[index(device)];
  const Ticks start = times_.start[i];
  const Ticks idle = start - (place.started ? times_.end[place.previous] : 0);
  const IdleCause cause = idle == 0 ? IdleCause::kCompute : read_gap(summary, place, i, end);
  if (!place.started) summary.first_start = start;
  summary.last_end = times_.end[i];
  const Ticks busy = summary.last_end - start;
  const RowFacts& row = facts(i);
  summary.busy += busy;
  summary.useful += busy;
  if (contended_) summary.slowed += busy - duration_of(program_, i, device, options_.seed);
  if (row.not_useful != 0) [[unlikely]]
    summary.useful -= not_useful(i, busy);
  for (InstrIndex member = i; options_.spans && member != end; ++member) {
    add_span(device, member, member == i ? idle : 0, member == i ? cause : IdleCause::kCompute);
  }
  const auto& guests = guests_[index(device)];
  for (; place.guest != guests.size() && guests[place.guest].first <= i; ++place.guest) {
    place.stash += guests[place.guest].second;
  }
  for (InstrIndex member = i; member != end; ++member) place.stash += facts(member).stash_at_start;
  place.peak_stash = std::max(place.peak_stash, place.stash);
  if (!timeline_.stashes.devices.empty()) add_stash_point(device, start, place.stash);
  for (InstrIndex member = i; member != end; ++member) {
    place.stash += facts(member).stash_at_end;
    if (facts(member).forward || facts(member).update) mark(device, place, member);
  }
  if (!timeline_.stashes.devices.empty()) add_stash_point(device, summary.last_end, place.stash);
}

/// What `read_unit` does, without what only some programs need: timelines have millions of instrs.
void LaneReader::read_alone(std::size_t lane, InstrIndex until) {
  Place& place = places_[lane];
  DeviceSummary& summary = timeline_.devices[lane];
  const DeviceId device{static_cast<std::int32_t>(lane)};
  Ticks clock = place.started ? times_.end[place.previous] : 0;
  for (InstrIndex i = place.next; i != until; ++i) {
    const RowFacts& row = facts(i);
    const Ticks start = times_.start[i];
    const Ticks idle = start - clock;
    const IdleCause cause = idle == 0 ? IdleCause::kCompute : read_gap(summary, place, i, i + 1);
    if (!place.started) summary.first_start = start;
    clock = times_.end[i];
    const Ticks busy = clock - start;
    summary.busy += busy;
    summary.useful += busy;
    if (row.not_useful != 0) [[unlikely]]
      summary.useful -= not_useful(i, busy);
    if (options_.spans) add_span(device, i, idle, cause);
    place.stash += row.stash_at_start;
    place.peak_stash = std::max(place.peak_stash, place.stash);
    place.stash += row.stash_at_end;
    if (row.update || (row.forward && place.draining != 0)) [[unlikely]]
      mark(device, place, i);
    place.previous = i;
    place.started = true;
  }
  place.next = until;
  if (place.started) summary.last_end = clock;
  summary.peak_activations = stash_.in_units(place.peak_stash);
}

/// Of the time that an instr was busy.
Ticks LaneReader::not_useful(InstrIndex i, Ticks busy) const {
  const RowFacts& row = facts(i);
  return busy == row.duration ? row.not_useful : busy - useful_share(program_, program_.instrs[i].row, busy);
}

void LaneReader::add_stash_point(DeviceId device, Ticks time, std::int64_t held) {
  std::vector<StashPoint>& points = timeline_.stashes.devices[index(device)];
  const double amount = stash_.in_units(held);
  if (points.empty() ? amount == 0 : points.back().amount == amount) return;
  points.push_back({.time = time, .amount = amount});
}

IdleCause LaneReader::read_gap(DeviceSummary& summary, const Place& place, InstrIndex i, InstrIndex end) {
  if (!place.started) return IdleCause::kWarmup;
  if (!options_.idle_causes) return IdleCause::kCompute;
  return causes_.add_gap(place.previous, i, end, times_.end[place.previous], summary.idle_causes);
}

inline void LaneReader::add_span(DeviceId device, InstrIndex i, Ticks idle, IdleCause cause) {
  // Written in place: a span that is made elsewhere and copied takes twice as long.
  Span& span = timeline_.spans.emplace_back();
  span.action = program_.instrs[i].action;
  span.device = device;
  span.waited_for = cause;
  span.start = times_.start[i];
  span.end = times_.end[i];
  span.idle_before = idle;
}

/// Notes an update, and that those before a forward had it ahead of them.
void LaneReader::mark(DeviceId device, Place& place, InstrIndex i) const {
  std::vector<UpdateMark>& marks = place.marks;
  if (facts(i).forward) {
    for (std::size_t m = marks.size(); place.draining != 0; --m) {
      place.draining -= marks[m - 1].forward_ahead ? 0 : 1;
      marks[m - 1].forward_ahead = true;
    }
    return;
  }
  const auto update = static_cast<std::int64_t>(program_.instrs[i].action.microbatch);
  std::size_t at = marks.size();  // stages may update in turns: those of a device may be an update apart
  while (at > 0 && marks[at - 1].update > update) --at;
  const bool known = at > 0 && marks[at - 1].update == update;
  if (!known)
    marks.insert(marks.begin() + static_cast<std::ptrdiff_t>(at),
                 {.device = device, .update = update, .made = place.skipped});
  UpdateMark& mark = marks[known ? at - 1 : at];
  place.draining += !known || mark.forward_ahead ? 1 : 0;
  mark.forward_ahead = false;
  mark.end = times_.end[i];
  mark.useful = timeline_.devices[index(device)].useful;
}

std::vector<UpdateMark> LaneReader::marks() const {
  std::vector<UpdateMark> all;
  for (const Place& place : places_) {
    const auto first = all.insert(all.end(), place.marks.begin(), place.marks.end());
    const std::span<UpdateMark> of_device(first, all.end());
    if (!std::ranges::is_sorted(of_device, {}, &UpdateMark::end)) std::ranges::sort(of_device, {}, &UpdateMark::end);
    for (std::int64_t made = 1; UpdateMark & mark : of_device) mark.made += made++;
  }
  return all;
}

Ticks useful_share(const Program& program, std::size_t row, Ticks duration) {
  const Row& facts = program.rows[row];
  if (!facts.overlapped && (facts.op == Op::kR || facts.op == Op::kX)) return 0;
  if (program.folded_recompute.empty() || program.folded_recompute[row] == 0) return duration;
  // Jitter stretches both parts alike.
  const double share = static_cast<double>(program.folded_recompute[row]) / static_cast<double>(program.durations[row]);
  if (duration == program.durations[row]) return duration - program.folded_recompute[row];
  return duration - static_cast<Ticks>(share * static_cast<double>(duration));
}

std::vector<UpdateMark> fill_lanes(const ProgramIndex& indexed, const RunTimes& times, const SimOptions& options,
                                   Timeline& timeline) {
  const Program& program = indexed.program();
  timeline.makespan = times.makespan;
  if (program.send_buffers.overruled()) timeline.send_buffers = program.send_buffers;
  LaneReader reader(indexed, times, options, timeline);
  if (options.spans) reserve_huge(timeline.spans, program.size() + program.transfers.size());
  std::optional<OtherSpans> others;
  if (options.spans && !(program.transfers.empty() && program.collectives.empty())) others.emplace(program, times);
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const std::size_t first = timeline.spans.size();
    reader.read(d, program.lane_begin[d + 1]);
    if (others) merge_spans(timeline.spans, first, others->of(DeviceId{static_cast<std::int32_t>(d)}));
    DeviceSummary& device = timeline.devices[d];
    if (!options.idle_causes) continue;
    device.idle_causes[static_cast<std::size_t>(IdleCause::kWarmup)] = device.first_start;
    device.idle_causes[static_cast<std::size_t>(IdleCause::kDrain)] = timeline.makespan - device.last_end;
  }
  return reader.marks();
}

}  // namespace plumb
