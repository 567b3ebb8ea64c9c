#include "schedules/catalogue/asynchronous/flush_free.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace plumb {
namespace {

constexpr std::array<std::string_view, 3> kTimingNames{"1f1b", "slots", "fused"};

/// Writes `Turns`; forwards and backwards are numbered from 0 in turn, and turns are grouped into updates, updates
/// into the spans between exchanges.
///
/// Turn t has the backward of t, the forward of t + warmup and, with a replay, the recompute of t + replay_ahead; turns
/// before 0 have no backward.
class TurnWriter {
 public:
  TurnWriter(ListBuilder& list, const Turns& of) : list_(list), of_(of) {
    groups_.push_back(of.per_update);
    if (of.syncs_each > 0) groups_.push_back(of.per_update * of.syncs_each);
  }

  void write() {
    std::vector<std::int64_t> cuts{-of_.warmup, of_.microbatches - of_.warmup, 0, of_.microbatches};
    if (replays()) cuts.insert(cuts.end(), {-of_.replay_ahead, of_.microbatches - of_.replay_ahead});
    std::ranges::sort(cuts);
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const std::int64_t begin = cuts[i];
      if (begin < 0) {
        list_.repeat(anything(begin) ? cuts[i + 1] - begin : 0, step(1), [&] { turn(begin); });
      } else {
        turns(groups_.size(), begin, cuts[i + 1]);
      }
    }
  }

 private:
  bool replays() const { return of_.replay_ahead > 0; }
  bool is_number(std::int64_t number) const { return number >= 0 && number < of_.microbatches; }
  bool anything(std::int64_t turn) const {
    return is_number(turn + of_.warmup) || (replays() && is_number(turn + of_.replay_ahead));
  }

  Advance step(std::int64_t turns) const {
    return {.microbatch = static_cast<std::int32_t>(turns * of_.stride),
            .update = static_cast<std::int32_t>(turns / of_.per_update)};
  }

  Action action(Op op, std::int64_t number) const {
    return ListBuilder::action(of_.stage, op, of_.first + number * of_.stride, of_.replica);
  }

  void add(Op op, std::int64_t number) const { list_.add(of_.stage, op, of_.first + number * of_.stride, of_.replica); }

  void turn(std::int64_t number) const {
    const bool forward = is_number(number + of_.warmup);
    if (forward && number >= 0 && of_.overlapped) {
      list_.add_pair(action(Op::kF, of_.warmup + number), action(Op::kB, number));
    } else {
      if (forward) add(Op::kF, of_.warmup + number);
      if (number >= 0) add(Op::kB, number);
    }
    if (replays() && is_number(number + of_.replay_ahead)) add(Op::kR, number + of_.replay_ahead);
  }

  /// What comes after group `level` that ends with turn `turns` - 1.
  void end_group(std::size_t level, std::int64_t turns) const {
    if (level == 2) {
      list_.add_collective(of_.stage, Op::kSyncWeights, of_.replica);
      return;
    }
    if (of_.reduces) list_.add_collective(of_.stage, Op::kReduceGrad, of_.replica);
    list_.add(of_.stage, Op::kU, of_.update + turns / of_.per_update - 1, of_.replica);
  }

  /// Turns [begin, end) in groups of `level` (0: single turns): the rest of a group, whole groups, the start of one.
  void turns(std::size_t level, std::int64_t begin, std::int64_t end) const {
    if (begin >= end) return;
    if (level == 0) {
      list_.repeat(end - begin, step(1), [&] { turn(begin); });
      return;
    }
    const std::int64_t size = groups_[level - 1];
    if (begin % size != 0) {
      const std::int64_t stop = std::min((begin / size + 1) * size, end);
      turns(level - 1, begin, stop);
      if (stop % size == 0) end_group(level, stop);
      begin = stop;
    }
    const std::int64_t whole = (end - begin) / size;
    list_.repeat(whole, step(size), [&] {
      turns(level - 1, begin, begin + size);
      end_group(level, begin + size);
    });
    turns(level - 1, begin + whole * size, end);
  }

  ListBuilder& list_;
  const Turns& of_;
  std::vector<std::int64_t> groups_;  ///< turns of an update, and of a span between exchanges
};

/// `updates` updates of one device one after the other: all forwards, then all backwards (GPipe, first in, first out).
void add_synchronous(ListBuilder& list, StageId stage, std::int64_t m, std::int64_t updates, bool replays) {
  list.repeat(updates, {.microbatch = static_cast<std::int32_t>(m), .update = 1}, [&] {
    list.each(m, [&] { list.add(stage, Op::kF, 0); });
    list.each(m, [&] {
      if (replays) list.add(stage, Op::kR, 0);
      list.add(stage, Op::kB, 0);
    });
    list.add(stage, Op::kU, 0);
  });
}

/// Segments of `size` stages, the last one of what is left.
std::vector<Recompute> segments_of(std::int32_t stages, std::int64_t size) {
  std::vector<Recompute> segments;
  for (std::int64_t first = 0; size > 0 && first < stages; first += size) {
    Recompute rule;
    rule.first_stage = static_cast<std::int32_t>(first);
    rule.last_stage = static_cast<std::int32_t>(std::min<std::int64_t>(first + size, stages)) - 1;
    rule.segment = true;
    segments.push_back(rule);
  }
  return segments;
}

/// Turns between the replay of stage `d` and its backward; 0 when it is replayed by the backward, or not at all.
std::int64_t replay_of(const std::vector<Recompute>& segments, std::int32_t d) {
  for (const Recompute& rule : segments) {
    const bool inside = rule.first_stage <= d && d <= rule.last_stage;
    if (inside && rule.first_stage < rule.last_stage) return 2 * std::int64_t{rule.last_stage - d} + 1;
  }
  return 0;
}

}  // namespace

std::int64_t delay_of(Timing timing, std::int64_t p, std::int64_t d) {
  if (timing == Timing::k1f1b) return p - 1 - d;
  return 2 * (p - 1 - d) + (timing == Timing::kSlots ? 1 : 0);
}

std::string_view name_of(Timing timing) { return kTimingNames[static_cast<std::size_t>(timing)]; }

Timing timing_of(std::string_view name, const ScheduleParams& params, std::initializer_list<Timing> choices) {
  const Timing first = *choices.begin();
  const Timing second = choices.size() > 1 ? choices.begin()[1] : first;
  const std::string chosen = choice(name, params, "timing", {name_of(first), name_of(second)});
  return chosen == name_of(first) ? first : second;
}

void add_turns(ListBuilder& list, const Turns& turns) { TurnWriter(list, turns).write(); }

std::int64_t steady_updates(const ScheduleParams& params, std::int64_t fill) {
  const std::int64_t m = params.num_microbatches;
  return updates_or(params, std::clamp(kMostMicrobatches / m, std::int64_t{1}, 4 * ((fill + m - 1) / m)));
}

Schedule flush_free_schedule(std::string_view name, const ScheduleParams& params, std::initializer_list<Timing> choices,
                             std::int64_t synchronous, std::int64_t segment) {
  require_one_chunk(name, params);
  const Timing timing = timing_of(name, params, choices);
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t fill = timing == Timing::k1f1b ? p : 2 * p - 1;
  const std::int64_t updates = params.updates > 0 ? params.updates : steady_updates(params, fill) + synchronous;
  const std::int64_t first = std::min(synchronous, updates);
  Schedule schedule = looped_schedule(name, params, 1, updates);
  schedule.parameters["timing"] = std::string(name_of(timing));
  schedule.parameters["updates"] = updates;
  require(segment == 0 || timing == Timing::kSlots, name, "segment: recompute of segments needs timing=slots");
  schedule.recompute = segments_of(params.num_devices, segment);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t delay = delay_of(timing, p, d);
    const std::int64_t replay = replay_of(schedule.recompute, d);
    ListBuilder list;
    add_synchronous(list, StageId{d}, m, first, replay > 0);
    add_turns(list, {.stage = StageId{d},
                     .microbatches = schedule.num_microbatches - first * m,
                     .per_update = m,
                     .warmup = delay,
                     .overlapped = timing != Timing::k1f1b && delay > 0,
                     .first = first * m,
                     .update = first,
                     .replay_ahead = replay});
    schedule.devices.push_back(list.take());
  }
  return schedule;
}

}  // namespace plumb
