#include "sim/passes/plain_passes.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "models/ground/huge_pages.hpp"
#include "schedules/program/lane_run.hpp"
#include "sim/lanes/lanes.hpp"
#include "sim/memory/stash.hpp"
#include "sim/rules/jitter.hpp"
#include "sim/rules/load_kinds.hpp"

namespace plumb {
namespace {

struct PlainLane {
  InstrIndex next = 0;
  InstrIndex end = 0;
  Ticks clock = 0;
};

/// Runs the lanes. `Keeper` says what is kept of every instr and has the words of their ends: `kUnknown` + 1 + the end.
template <class Keeper>
class PlainPass {
 public:
  explicit PlainPass(const Program& program)
      : instrs_(program.instrs.data()),
        waits_(program.waits.data()),
        comm_(program.comm.value_or(0)),
        keeper_(program),
        lanes_(static_cast<std::size_t>(program.num_devices)),
        run_(lanes_.size()) {
    for (std::size_t d = 0; d < lanes_.size(); ++d) {
      lanes_[d].next = program.lane_begin[d];
      lanes_[d].end = program.lane_begin[d + 1];
    }
  }

  /// What was kept; nothing when the lanes deadlock.
  auto run() {
    run_.wake_all();
    run_.run([&](std::uint32_t lane) { advance(lane); });
    const bool finished = std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.next == lane.end; });
    return finished ? std::optional(keeper_.take(lanes_)) : std::nullopt;
  }

 private:
  using Lane = typename Keeper::Lane;

  static constexpr Ticks kZero = Keeper::kUnknown + 1;

  /// Runs `lane` until it is done or waits for an instr of another lane.
  void advance(std::uint32_t self) {
    Lane lane = lanes_[self];
    Ticks* const ends = keeper_.ends();
    const Ticks comm = comm_;
    for (; lane.next != lane.end; ++lane.next) {
      const Instr& instr = instrs_[lane.next];
      __builtin_prefetch(&instr + kStepsAhead);
      __builtin_prefetch(waits_ + instr.first_wait + kStepsAhead);
      __builtin_prefetch(ends + lane.next + kStepsAhead, 1);
      Ticks start = lane.clock;
      Ticks latency = 0;
      for (std::uint32_t w = instr.first_wait; w != (&instr + 1)->first_wait; ++w) {
        const Wait& wait = waits_[w];
        if (run_.waits(self, ends[wait.source])) {
          lanes_[self] = lane;
          return;
        }
        const Ticks added = wait.via == Wait::kLatency ? comm : 0;
        const Ticks over = ends[wait.source] - kZero + added;
        if (over > start) {
          start = over;
          latency = added;
        }
      }
      keeper_.keep(lane, self, instr, start, latency);
      run_.set(ends[lane.next], kZero + lane.clock);
    }
    lanes_[self] = lane;
  }

  const Instr* instrs_;
  const Wait* waits_;
  Ticks comm_;
  Keeper keeper_;
  std::vector<Lane> lanes_;
  LaneRun<Ticks, Keeper::kUnknown> run_;
};

/// Keeps all times.
class TimesKeeper {
 public:
  using Lane = PlainLane;
  static constexpr Ticks kUnknown = -1;

  explicit TimesKeeper(const Program& program) : durations_(program.durations.data()) {
    reserve_huge(times_.start, program.size());
    reserve_huge(times_.end, program.size());
    times_.start.resize(program.size());
    times_.end.assign(program.size(), kUnknown);
    starts_ = times_.start.data();
  }

  Ticks* ends() { return times_.end.data(); }

  void keep(Lane& lane, std::uint32_t, const Instr& instr, Ticks start, Ticks) {
    __builtin_prefetch(starts_ + lane.next + kStepsAhead, 1);
    starts_[lane.next] = start;
    lane.clock = start + durations_[instr.row];
  }

  RunTimes take(const std::vector<Lane>& lanes) {
    for (const Lane& lane : lanes) times_.makespan = std::max(times_.makespan, lane.clock);
    return std::move(times_);
  }

 private:
  const Ticks* durations_;
  Ticks* starts_ = nullptr;
  RunTimes times_;
};

/// A large array of zeros, in huge pages where the system has them: an array of one word per action costs more in page
/// faults than in use. Large blocks of calloc are fresh pages of the system, zero already, and untouched until they are
/// used.
class ZeroedWords {
 public:
  explicit ZeroedWords(std::size_t size) {
    void* block = std::calloc(size == 0 ? 1 : size, sizeof(Ticks));
    if (block == nullptr) throw std::bad_alloc();
    words_.reset(static_cast<Ticks*>(block));
    prefer_huge_pages(block, size * sizeof(Ticks));
  }

  Ticks* data() { return words_.get(); }

 private:
  struct Free {
    void operator()(Ticks* words) const { std::free(words); }
  };
  std::unique_ptr<Ticks[], Free> words_;
};

struct alignas(64) TotalsLane : PlainLane {
  bool started = false;
  Ticks gaps = 0;  ///< idle time since the first start
  Ticks latency = 0;
  Ticks not_useful = 0;
  std::int64_t stash = 0;
  std::int64_t peak_stash = 0;
};

/// Keeps sums.
class TotalsKeeper {
 public:
  using Lane = TotalsLane;
  static constexpr Ticks kUnknown = 0;

  explicit TotalsKeeper(const Program& program)
      : ends_(program.size() + kStepsAhead),
        totals_(static_cast<std::size_t>(program.num_devices)),
        first_update_(totals_.size()) {
    const StashChanges changes = stash_changes(program);
    for (std::size_t row = 0; row < program.rows.size(); ++row) {
      const Ticks duration = program.durations[row];
      facts_.push_back({.duration = duration,
                        .not_useful = duration - useful_share(program, row, duration),
                        .stash_at_start = changes.at_start[row],
                        .stash_at_end = changes.at_end[row],
                        .is_update = program.rows[row].op == Op::kU});
    }
  }

  Ticks* ends() { return ends_.data(); }

  void keep(Lane& lane, std::uint32_t self, const Instr& instr, Ticks start, Ticks latency) {
    const RowFacts& facts = facts_[instr.row];
    if (!lane.started) {
      lane.started = true;
      totals_[self].first_start = start;
    } else {
      lane.gaps += start - lane.clock;
      lane.latency += std::min(start - lane.clock, latency);
    }
    lane.clock = start + facts.duration;
    lane.not_useful += facts.not_useful;
    lane.stash += facts.stash_at_start;
    lane.peak_stash = std::max(lane.peak_stash, lane.stash);
    lane.stash += facts.stash_at_end;
    if (facts.is_update) [[unlikely]]
      note_update(self, instr.action.microbatch, lane.clock);
  }

  std::vector<LaneTotals> take(const std::vector<Lane>& lanes) {
    for (std::size_t d = 0; d < lanes.size(); ++d) {
      LaneTotals& totals = totals_[d];
      totals.last_end = lanes[d].clock;
      totals.busy = lanes[d].clock - totals.first_start - lanes[d].gaps;
      totals.useful = totals.busy - lanes[d].not_useful;
      totals.latency = lanes[d].latency;
      totals.peak_stash = lanes[d].peak_stash;
    }
    return std::move(totals_);
  }

 private:
  struct RowFacts {
    Ticks duration = 0;
    Ticks not_useful = 0;
    std::int64_t stash_at_start = 0;
    std::int64_t stash_at_end = 0;
    bool is_update = false;
  };

  void note_update(std::uint32_t self, MicrobatchId number, Ticks end) {
    LaneTotals& totals = totals_[self];
    totals.last_update = end;
    if (totals.first_update < 0) first_update_[self] = number;
    if (number == first_update_[self]) totals.first_update = end;
  }

  ZeroedWords ends_;
  std::vector<LaneTotals> totals_;
  std::vector<MicrobatchId> first_update_;  ///< by lane: number of its first U; several stages share it
  std::vector<RowFacts> facts_;
};

}  // namespace

bool has_plain_lanes(const Program& program) {
  const bool pairs = std::ranges::any_of(program.rows, &Row::overlapped);
  return program.transfers.empty() && program.collectives.empty() && !program.runtime.costs() && !pairs &&
         !has_jitter(program) && !is_contended(program);
}

std::optional<RunTimes> run_plain_times(const Program& program) { return PlainPass<TimesKeeper>(program).run(); }

bool has_plain_waits_only(const Program& program) {
  if (!has_plain_lanes(program)) return false;
  const StashChanges stash = stash_changes(program);
  const auto fits = [](std::int64_t change) { return change == static_cast<std::int32_t>(change); };
  return std::ranges::all_of(stash.at_start, fits) && std::ranges::all_of(stash.at_end, fits);
}

std::optional<std::vector<LaneTotals>> run_totals(const Program& program) {
  return PlainPass<TotalsKeeper>(program).run();
}

}  // namespace plumb
