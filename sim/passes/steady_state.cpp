#include "sim/passes/steady_state.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/program/waits.hpp"
#include "sim/lanes/lanes.hpp"
#include "sim/memory/memory.hpp"
#include "sim/passes/one_pass.hpp"

namespace plumb {
namespace {

/// Where all lanes stood after an iteration of a phase, and what they had done by then.
struct Checkpoint {
  struct Totals {
    Ticks busy = 0;
    Ticks useful = 0;
    CauseTimes idle_causes{};
    std::int64_t stash = 0;
    std::int64_t updates = 0;
  };
  std::vector<InstrIndex> position;   ///< by lane
  std::vector<Ticks> clock;           ///< by lane
  std::vector<Totals> totals;         ///< by lane
  std::vector<std::uint32_t> served;  ///< by channel, places in the order of service
  std::vector<Ticks> free;            ///< by channel: when its last message was done
};

/// Iterations after which a steady state is looked for: small numbers, then ever larger steps.
bool is_worth_looking(std::int64_t iteration) {
  std::int64_t step = 1;
  while (step * 8 <= iteration) step *= 2;
  return iteration >= 2 && iteration % step == 0;
}

class FoldedRun {
 public:
  FoldedRun(const Program& program, const Fold& fold, const SimOptions& options)
      : program_(program),
        fold_(fold),
        indexed_(program),
        pass_(indexed_, options),
        reader_(indexed_, pass_.times(), options, timeline_) {
    for (const Row& row : program.rows) {
      lane_of_row_.push_back(static_cast<std::uint32_t>(program.holders[row.holder].device));
    }
    for (const Channel& channel : program.channels) latency_.push_back(latency_time(channel.route, program.base));
    left_out_.resize(lanes());
  }

  FoldedResult run() {
    if (!run_phases(fold_.phases)) return {std::nullopt, {}, multiple_};
    pass_.run();
    if (!pass_.finished()) return {};
    for (std::size_t d = 0; d < lanes(); ++d) {
      reader_.read(d, program_.lane_begin[d + 1]);
      timeline_.makespan = std::max(timeline_.makespan, pass_.clock(d));
    }
    for (const Ticks end : pass_.times().collective_end) timeline_.makespan = std::max(timeline_.makespan, end);
    if (knows_bytes(program_) && !add_memory()) return {};
    return {std::move(timeline_), reader_.marks(), multiple_};
  }

 private:
  std::size_t lanes() const { return static_cast<std::size_t>(program_.num_devices); }
  std::size_t channels() const { return program_.channels.size(); }
  std::uint32_t lane_of(InstrIndex i) const { return lane_of_row_[program_.instrs[i].row]; }

  bool run_phases(const std::vector<FoldedPhase>& phases) {
    return std::ranges::all_of(phases, [this](const FoldedPhase& phase) { return run_phase(phase); });
  }

  bool run_phase(const FoldedPhase& phase) {
    std::vector<Checkpoint> checkpoints;
    bool jumped = false;
    // Buffers may still be filling up when the times repeat already.
    const std::int64_t earliest = knows_bytes(program_) ? phase.kept / 4 : 0;
    for (std::int64_t k = 0; k < phase.kept; ++k) {
      if (!phase.inside.empty() && !run_phases(phase.inside[static_cast<std::size_t>(k)])) return false;
      if (jumped) continue;
      std::vector<InstrIndex> limits;
      for (const FoldedRegion& lane : phase.lanes) {
        limits.push_back(lane.begin + static_cast<InstrIndex>(k + 1) * lane.length);
      }
      pass_.run(limits);
      checkpoints.push_back(checkpoint());
      if (k >= earliest && is_worth_looking(k + 1)) jumped = look_for_period(phase, checkpoints, phase.kept - k - 1);
      if (jumped && phase.inside.empty()) return true;
    }
    return jumped;
  }

  Checkpoint checkpoint() {
    Checkpoint c;
    for (std::size_t d = 0; d < lanes(); ++d) {
      reader_.read(d, pass_.position(d));
      c.position.push_back(pass_.position(d));
      c.clock.push_back(pass_.clock(d));
      const DeviceSummary& device = timeline_.devices[d];
      c.totals.push_back({device.busy, device.useful, device.idle_causes, reader_.stash(d), reader_.updates(d)});
    }
    for (std::size_t channel = 0; channel < channels(); ++channel) {
      c.served.push_back(pass_.served(channel));
      c.free.push_back(pass_.free(channel));
    }
    return c;
  }

  /// Looks for the shortest period that ends at the last checkpoint and jumps; a whole period must be left after it,
  /// so that the peaks of what is skipped occur there.
  bool look_for_period(const FoldedPhase& phase, const std::vector<Checkpoint>& checkpoints, std::int64_t left) {
    const auto count = static_cast<std::int64_t>(checkpoints.size());
    for (std::int64_t q = 1; 2 * q < count && q <= left; ++q) {
      if (!repeats(phase, checkpoints, static_cast<std::size_t>(q))) continue;
      if (phase.removed % q != 0) {
        multiple_ = std::lcm(multiple_, q * phase.advance);
        return false;
      }
      jump(checkpoints, static_cast<std::size_t>(q), phase.removed / q);
      return true;
    }
    return false;
  }

  /// Conditions (1) to (3) for the last q iterations.
  bool repeats(const FoldedPhase& phase, const std::vector<Checkpoint>& checkpoints, std::size_t q) const {
    const Checkpoint& now = checkpoints.back();
    const Checkpoint& begin = checkpoints[checkpoints.size() - 1 - q];
    const Checkpoint& before = checkpoints[checkpoints.size() - 1 - 2 * q];
    for (std::size_t d = 0; d < lanes(); ++d) {
      const InstrIndex length = phase.lanes[d].length * static_cast<InstrIndex>(q);
      const bool in_step = now.position[d] - begin.position[d] == length &&
                           begin.position[d] - before.position[d] == length &&
                           before.position[d] >= phase.lanes[d].begin;
      if (!in_step || now.clock[d] - begin.clock[d] != begin.clock[d] - before.clock[d]) return false;
    }
    for (std::size_t d = 0; d < lanes(); ++d) {
      if (!same_but_later(phase.lanes[d].length * static_cast<InstrIndex>(q), begin, now, d)) return false;
    }
    for (std::size_t c = 0; c < channels(); ++c) {
      if (!sends_the_same(c, before, begin, now)) return false;
    }
    return reads_last_period_only(before, begin, now) && keeps_pace(begin, now);
  }

  Ticks shift_of(const Checkpoint& begin, const Checkpoint& now, std::size_t d) const {
    return now.clock[d] - begin.clock[d];
  }

  /// Condition (1).
  bool same_but_later(InstrIndex length, const Checkpoint& begin, const Checkpoint& now, std::size_t d) const {
    const RunTimes& times = pass_.times();
    const Ticks shift = shift_of(begin, now, d);
    for (InstrIndex i = begin.position[d]; i != now.position[d]; ++i) {
      if (times.start[i] - times.start[i - length] != shift || times.end[i] - times.end[i - length] != shift)
        return false;
    }
    return true;
  }

  /// Condition (1) for the messages of a channel. One that has sent none must be free when its next one is offered.
  bool sends_the_same(std::size_t c, const Checkpoint& before, const Checkpoint& begin, const Checkpoint& now) const {
    const std::size_t from = index(program_.channels[c].from);
    const std::size_t to = index(program_.channels[c].to);
    const std::uint32_t count = now.served[c] - begin.served[c];
    if (begin.served[c] - before.served[c] != count) return false;
    if (count == 0) return now.free[c] <= now.clock[from];
    const Ticks shift = shift_of(begin, now, from);
    const InstrIndex sent = now.position[from] - begin.position[from];
    const InstrIndex received = now.position[to] - begin.position[to];
    for (std::uint32_t place = begin.served[c]; place != now.served[c]; ++place) {
      const std::uint32_t t = pass_.message(place);
      const std::uint32_t earlier = pass_.message(place - count);
      const TransferTimes& is = pass_.times().transfers[t];
      const TransferTimes& was = pass_.times().transfers[earlier];
      const bool later = is.start - was.start == shift && is.done - was.done == shift;
      if (!later || !stands_later(program_.transfers[t], program_.transfers[earlier], sent, received)) return false;
    }
    return true;
  }

  /// Whether a message touches the lanes of its sender and its receiver so many instrs later than another one.
  static bool stands_later(const Transfer& is, const Transfer& was, InstrIndex sent, InstrIndex received) {
    return is.bytes == was.bytes && is.producer - was.producer == sent && is.issue - was.issue == sent &&
           is.sent - was.sent == sent && is.consumer - was.consumer == received && is.post - was.post == received;
  }

  /// Condition (2). Collectives count as read from all members.
  bool reads_last_period_only(const Checkpoint& before, const Checkpoint& begin, const Checkpoint& now) const {
    const auto is_old = [&](const Wait& wait, std::size_t d) {
      const std::uint32_t lane = lane_of(wait.source);
      if (lane == d || wait.source >= begin.position[lane] || is_for_transfer(wait)) return false;
      const Ticks latency = latency_of(program_, wait);
      const bool past = before.clock[lane] + latency <= begin.clock[d] && begin.clock[lane] + latency <= now.clock[d] &&
                        shift_of(begin, now, lane) <= shift_of(begin, now, d);
      return is_for_collective(wait) || !past;
    };
    for (const Collective& collective : program_.collectives) {
      const auto has_run = [&](InstrIndex member) { return member < now.position[lane_of(member)]; };
      const auto joined = std::ranges::count_if(collective.members, has_run);
      if (joined != 0 && joined != std::ssize(collective.members)) return false;
    }
    for (std::size_t d = 0; d < lanes(); ++d) {
      for (const Wait& wait : waits_of(program_, now.position[d], program_.lane_begin[d + 1])) {
        if (is_old(wait, d)) return false;
        if (is_for_collective(wait) && wait.source < now.position[lane_of(wait.source)]) return false;
      }
    }
    for (std::size_t c = 0; c < channels(); ++c) {
      if (!old_messages_are_past(c, before, begin, now)) return false;
    }
    return true;
  }

  /// Condition (2) for what was sent before the last period.
  bool old_messages_are_past(std::size_t c, const Checkpoint& before, const Checkpoint& begin,
                             const Checkpoint& now) const {
    const std::size_t from = index(program_.channels[c].from);
    const std::size_t to = index(program_.channels[c].to);
    const auto is_past = [&](Ticks latency, std::size_t lane) {
      return before.free[c] + latency <= begin.clock[lane] && begin.free[c] + latency <= now.clock[lane];
    };
    const bool is_available = is_past(latency_[c], to);
    const bool is_sent = is_past(0, from);
    if (is_available && is_sent) return true;
    for (std::uint32_t place = pass_.first(c); place != begin.served[c]; ++place) {
      const Transfer& old = program_.transfers[pass_.message(place)];
      if (!is_available && old.consumer >= now.position[to]) return false;
      if (!is_sent && old.sent >= now.position[from]) return false;
    }
    return true;
  }

  /// Condition (3).
  bool keeps_pace(const Checkpoint& begin, const Checkpoint& now) const {
    const Ticks first = shift_of(begin, now, 0);
    bool equal = true;
    for (std::size_t d = 1; d < lanes(); ++d) equal = equal && shift_of(begin, now, d) == first;
    if (equal || channels() != 0) return equal;
    for (std::size_t d = 0; d < lanes(); ++d) {
      InstrIndex end = 0;
      for (InstrIndex i = begin.position[d]; i != now.position[d]; i = end) {
        end = unit_end(program_, i);
        for (const Wait& wait : waits_of(program_, i, end)) {
          const Ticks other = shift_of(begin, now, lane_of(wait.source));
          const Ticks own = shift_of(begin, now, d);
          const bool was_last = over_at(program_, pass_.times(), wait) == pass_.times().start[i];
          if (other > own || (other < own && was_last)) return false;
        }
      }
    }
    return true;
  }

  void jump(const std::vector<Checkpoint>& checkpoints, std::size_t q, std::int64_t periods) {
    const Checkpoint& now = checkpoints.back();
    const Checkpoint& begin = checkpoints[checkpoints.size() - 1 - q];
    for (std::size_t d = 0; d < lanes(); ++d) {
      pass_.shift(d, begin.position[d], periods * shift_of(begin, now, d));
      DeviceSummary& device = timeline_.devices[d];
      device.busy += periods * (now.totals[d].busy - begin.totals[d].busy);
      device.useful += periods * (now.totals[d].useful - begin.totals[d].useful);
      for (std::size_t c = 0; c < kIdleCauseCount; ++c) {
        device.idle_causes[c] += periods * (now.totals[d].idle_causes[c] - begin.totals[d].idle_causes[c]);
      }
      reader_.skip_updates(d, periods * (now.totals[d].updates - begin.totals[d].updates));
      std::int64_t stash = 0;
      if (__builtin_mul_overflow(periods, now.totals[d].stash - begin.totals[d].stash, &stash)) {
        throw Error("device " + std::to_string(d) + ": its stashes add up to more than 64 bits can count");
      }
      reader_.add_stash(d, stash);
      left_out_[d].push_back(
          {checkpoints[checkpoints.size() - 1 - 2 * q].position[d], begin.position[d], now.position[d], periods});
    }
    for (std::size_t c = 0; c < channels(); ++c) {
      pass_.shift_messages(c, begin.served[c], periods * shift_of(begin, now, index(program_.channels[c].from)));
    }
  }

  /// Peaks in bytes; false where a stretch does not do what the one before it did.
  bool add_memory() {
    const MemoryModel model(indexed_.program());
    for (std::size_t d = 0; d < lanes(); ++d) {
      const auto peak = model.peak(DeviceId{static_cast<std::int32_t>(d)}, left_out_[d]);
      if (!peak) return false;
      timeline_.devices[d].peak_memory_bytes = peak->bytes;
      timeline_.devices[d].peak_memory_by_class = peak->by_class;
    }
    return true;
  }

  const Program& program_;
  const Fold& fold_;
  ProgramIndex indexed_;
  Timeline timeline_;
  OnePass pass_;
  LaneReader reader_;
  std::vector<std::uint32_t> lane_of_row_;
  std::vector<Ticks> latency_;                  ///< by channel
  std::vector<std::vector<LeftOut>> left_out_;  ///< by lane
  std::int64_t multiple_ = 1;
};

}  // namespace

FoldedResult run_folded(const Program& program, const Fold& fold, const SimOptions& options) {
  FoldedResult result = FoldedRun(program, fold, options).run();
  if (!result.timeline || !options.idle_causes) return result;
  for (DeviceSummary& device : result.timeline->devices) {
    device.idle_causes[static_cast<std::size_t>(IdleCause::kWarmup)] = device.first_start;
    device.idle_causes[static_cast<std::size_t>(IdleCause::kDrain)] = result.timeline->makespan - device.last_end;
  }
  return result;
}

}  // namespace plumb
