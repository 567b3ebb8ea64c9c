#include "sim/steady_state.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/lanes.hpp"
#include "sim/one_pass.hpp"
#include "sim/waits.hpp"

namespace plumb {
namespace {

/// Where all lanes stood after an iteration of a phase, and what they had done by then.
struct Checkpoint {
  struct Totals {
    Ticks busy = 0;
    Ticks useful = 0;
    CauseTimes idle_causes{};
    std::int64_t stash = 0;
  };
  std::vector<InstrIndex> position;
  std::vector<Ticks> clock;
  std::vector<Totals> totals;
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
      : program_(program), fold_(fold), pass_(program, options), reader_(program, pass_.times(), options, timeline_) {
    for (const Row& row : program.rows) {
      lane_of_row_.push_back(static_cast<std::uint32_t>(program.holders[row.holder].device));
    }
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
    return {std::move(timeline_), reader_.marks(), 1};
  }

 private:
  std::size_t lanes() const { return static_cast<std::size_t>(program_.num_devices); }
  std::uint32_t lane_of(InstrIndex i) const { return lane_of_row_[program_.instrs[i].row]; }

  bool run_phases(const std::vector<FoldedPhase>& phases) {
    return std::ranges::all_of(phases, [this](const FoldedPhase& phase) { return run_phase(phase); });
  }

  bool run_phase(const FoldedPhase& phase) {
    std::vector<Checkpoint> checkpoints;
    bool jumped = false;
    for (std::int64_t k = 0; k < phase.kept; ++k) {
      if (!phase.inside.empty() && !run_phases(phase.inside[static_cast<std::size_t>(k)])) return false;
      if (jumped) continue;
      std::vector<InstrIndex> limits;
      for (const FoldedRegion& lane : phase.lanes) {
        limits.push_back(lane.begin + static_cast<InstrIndex>(k + 1) * lane.length);
      }
      pass_.run(limits);
      checkpoints.push_back(checkpoint());
      if (is_worth_looking(k + 1)) jumped = look_for_period(phase, checkpoints, phase.kept - k - 1);
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
      c.totals.push_back({device.busy, device.useful, device.idle_causes, reader_.stash(d)});
    }
    return c;
  }

  /// Looks for the shortest period that ends at the last checkpoint and jumps; a whole period must be left behind it,
  /// so that peaks of what is jumped over are met there.
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
    return reads_last_period_only(begin, now) && keeps_pace(begin, now);
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

  /// Condition (2). Collectives count as read from all members.
  bool reads_last_period_only(const Checkpoint& begin, const Checkpoint& now) const {
    const auto is_old = [&](InstrIndex source, std::size_t d) {
      const std::uint32_t lane = lane_of(source);
      return lane != d && source < begin.position[lane];
    };
    for (const Collective& collective : program_.collectives) {
      const auto has_run = [&](InstrIndex member) { return member < now.position[lane_of(member)]; };
      const auto joined = std::ranges::count_if(collective.members, has_run);
      if (joined != 0 && joined != std::ssize(collective.members)) return false;
    }
    for (std::size_t d = 0; d < lanes(); ++d) {
      const std::uint32_t end = program_.instrs[program_.lane_begin[d + 1]].first_wait;
      for (std::uint32_t w = program_.instrs[now.position[d]].first_wait; w < end; ++w) {
        const Wait& wait = program_.waits[w];
        if (is_old(wait.source, d)) return false;
        if (is_for_collective(wait) && wait.source < now.position[lane_of(wait.source)]) return false;
      }
    }
    return true;
  }

  /// Condition (3).
  bool keeps_pace(const Checkpoint& begin, const Checkpoint& now) const {
    const Ticks first = shift_of(begin, now, 0);
    bool equal = true;
    for (std::size_t d = 1; d < lanes(); ++d) equal = equal && shift_of(begin, now, d) == first;
    if (equal) return true;
    for (std::size_t d = 0; d < lanes(); ++d) {
      InstrIndex behind = 0;
      for (InstrIndex i = begin.position[d]; i != now.position[d]; i = behind) {
        behind = unit_end(program_, i);
        for (std::uint32_t w = program_.instrs[i].first_wait; w != program_.instrs[behind].first_wait; ++w) {
          const Wait& wait = program_.waits[w];
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
      reader_.add_stash(d, periods * (now.totals[d].stash - begin.totals[d].stash));
    }
  }

  const Program& program_;
  const Fold& fold_;
  Timeline timeline_;
  OnePass pass_;
  LaneReader reader_;
  std::vector<std::uint32_t> lane_of_row_;
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
