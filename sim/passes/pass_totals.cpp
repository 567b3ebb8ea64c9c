#include <algorithm>

#include "sim/lanes/lanes.hpp"
#include "sim/memory/stash.hpp"
#include "sim/passes/pass_engine.hpp"
#include "sim/passes/plain_times.hpp"
#include "sim/passes/zeroed_words.hpp"

namespace plumb {
namespace {

/// A word per instr: 0 before it has run, 1 + its end afterwards; in between, while lanes wait for it, -1 - the first
/// one.
constexpr Ticks kNotRun = 0;
constexpr std::uint32_t kNobody = 0xFFFFFFFFU;

/// How far ahead of its instr a lane asks for memory. Hundreds of lanes take turns after two or three instrs each, so
/// the processor cannot see the pattern itself.
constexpr std::size_t kTotalsAhead = 16;

struct RowFacts {
  Ticks duration = 0;
  Ticks not_useful = 0;
  std::int64_t stash_at_start = 0;
  std::int64_t stash_at_end = 0;
  bool is_update = false;
};

struct alignas(64) TotalsLane {
  InstrIndex next = 0;
  InstrIndex end = 0;
  std::uint32_t next_waiter = kNobody;  ///< after this lane in the list that waits for the same instr
  bool started = false;
  Ticks clock = 0;
  Ticks gaps = 0;  ///< idle time since the first start
  Ticks latency = 0;
  Ticks not_useful = 0;
  std::int64_t stash = 0;
  std::int64_t peak_stash = 0;
};

class TotalsPass {
 public:
  explicit TotalsPass(const Program& program)
      : instrs_(program.instrs.data()),
        waits_(program.waits.data()),
        comm_(program.comm.value_or(0)),
        end_(program.size() + kTotalsAhead),
        lanes_(static_cast<std::size_t>(program.num_devices)),
        totals_(lanes_.size()),
        first_update_(lanes_.size()) {
    const StashChanges changes = stash_changes(program);
    for (std::size_t row = 0; row < program.rows.size(); ++row) {
      const Ticks duration = program.durations[row];
      facts_.push_back({.duration = duration,
                        .not_useful = duration - useful_share(program, row, duration),
                        .stash_at_start = changes.at_start[row],
                        .stash_at_end = changes.at_end[row],
                        .is_update = program.rows[row].op == Op::kU});
    }
    for (std::size_t d = lanes_.size(); d-- > 0;) {
      lanes_[d].next = program.lane_begin[d];
      lanes_[d].end = program.lane_begin[d + 1];
      ready_.push_back(static_cast<std::uint32_t>(d));
    }
  }

  std::optional<std::vector<LaneTotals>> run() {
    while (!ready_.empty()) {
      const std::uint32_t lane = ready_.back();
      ready_.pop_back();
      advance(lane);
    }
    for (std::size_t d = 0; d < lanes_.size(); ++d) {
      const TotalsLane& lane = lanes_[d];
      if (lane.next != lane.end) return std::nullopt;
      LaneTotals& totals = totals_[d];
      totals.last_end = lane.clock;
      totals.busy = lane.clock - totals.first_start - lane.gaps;
      totals.useful = totals.busy - lane.not_useful;
      totals.latency = lane.latency;
      totals.peak_stash = lane.peak_stash;
    }
    return std::move(totals_);
  }

 private:
  /// Runs `lane` until it is done or waits for an instr of another lane.
  void advance(std::uint32_t self) {
    TotalsLane lane = lanes_[self];
    for (; lane.next != lane.end; ++lane.next) {
      const Instr& instr = instrs_[lane.next];
      prefetch(lane.next);
      Ticks start = lane.clock;
      Ticks latency = 0;
      for (std::uint32_t w = instr.first_wait; w != (&instr + 1)->first_wait; ++w) {
        const Wait& wait = waits_[w];
        Ticks& word = end_[wait.source];
        if (word <= kNotRun) {
          lane.next_waiter = word == kNotRun ? kNobody : static_cast<std::uint32_t>(-1 - word);
          word = -1 - static_cast<Ticks>(self);
          lanes_[self] = lane;
          return;
        }
        const Ticks added = wait.via == Wait::kLatency ? comm_ : 0;
        const Ticks end = word - 1 + added;
        if (end > start) {
          start = end;
          latency = added;
        }
      }
      run(lane, self, instr.row, start, latency);
    }
    lanes_[self] = lane;
  }

  void run(TotalsLane& lane, std::uint32_t self, std::uint32_t row, Ticks start, Ticks latency) {
    const RowFacts& facts = facts_[row];
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
    if (facts.is_update) [[unlikely]] {
      LaneTotals& totals = totals_[self];
      totals.last_update = lane.clock;
      const MicrobatchId number = instrs_[lane.next].action.microbatch;
      if (totals.first_update < 0) first_update_[self] = number;
      if (number == first_update_[self]) totals.first_update = lane.clock;
    }
    const Ticks waiters = end_[lane.next];
    end_[lane.next] = 1 + lane.clock;
    if (waiters != kNotRun) wake(static_cast<std::uint32_t>(-1 - waiters));
  }

  void wake(std::uint32_t lane) {
    while (lane != kNobody) {
      ready_.push_back(lane);
      lane = lanes_[lane].next_waiter;
    }
  }

  void prefetch(InstrIndex at) const {
    __builtin_prefetch(instrs_ + at + kTotalsAhead);
    __builtin_prefetch(waits_ + instrs_[at].first_wait + kTotalsAhead);
    __builtin_prefetch(end_.data() + at + kTotalsAhead, 1);
  }

  const Instr* instrs_;
  const Wait* waits_;
  Ticks comm_;
  ZeroedWords end_;
  std::vector<TotalsLane> lanes_;
  std::vector<LaneTotals> totals_;
  std::vector<MicrobatchId> first_update_;  ///< by lane: number of its first U; several stages share it
  std::vector<RowFacts> facts_;
  std::vector<std::uint32_t> ready_;  ///< lanes that can go on; the last one goes first
};

}  // namespace

bool has_plain_waits_only(const Program& program) {
  if (!has_plain_lanes(program)) return false;
  const StashChanges stash = stash_changes(program);
  const auto fits = [](std::int64_t change) { return change == static_cast<std::int32_t>(change); };
  return std::ranges::all_of(stash.at_start, fits) && std::ranges::all_of(stash.at_end, fits);
}

std::optional<std::vector<LaneTotals>> run_totals(const Program& program) { return TotalsPass(program).run(); }

}  // namespace plumb
