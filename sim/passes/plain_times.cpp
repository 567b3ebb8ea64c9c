#include "sim/passes/plain_times.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "models/ground/huge_pages.hpp"
#include "sim/rules/jitter.hpp"
#include "sim/rules/load_kinds.hpp"

namespace plumb {
namespace {

/// The end of an instr that has not run: this while nobody waits for it, otherwise this - 1 - the first lane that does.
constexpr Ticks kStillOpen = -1;
constexpr std::uint32_t kLastWaiter = std::numeric_limits<std::uint32_t>::max();

/// How far ahead of its instr a lane asks for memory: hundreds of lanes take turns.
constexpr std::size_t kStepsAhead = 16;

struct PlainLane {
  InstrIndex next = 0;
  InstrIndex end = 0;
  std::uint32_t next_waiter = kLastWaiter;  ///< after this lane in the list that waits for the same instr
  Ticks clock = 0;
};

class PlainTimesPass {
 public:
  explicit PlainTimesPass(const Program& program)
      : instrs_(program.instrs.data()),
        waits_(program.waits.data()),
        durations_(program.durations.data()),
        comm_(program.comm.value_or(0)),
        lanes_(static_cast<std::size_t>(program.num_devices)) {
    reserve_huge(times_.start, program.size());
    reserve_huge(times_.end, program.size());
    times_.start.resize(program.size());
    times_.end.assign(program.size(), kStillOpen);
    for (std::size_t d = lanes_.size(); d-- > 0;) {
      lanes_[d].next = program.lane_begin[d];
      lanes_[d].end = program.lane_begin[d + 1];
      ready_.push_back(static_cast<std::uint32_t>(d));
    }
  }

  std::optional<RunTimes> run() {
    while (!ready_.empty()) {
      const std::uint32_t lane = ready_.back();
      ready_.pop_back();
      advance(lane);
    }
    for (const PlainLane& lane : lanes_) {
      if (lane.next != lane.end) return std::nullopt;
      times_.makespan = std::max(times_.makespan, lane.clock);
    }
    return std::move(times_);
  }

 private:
  /// Runs `lane` until it is done or waits for an instr of another lane.
  void advance(std::uint32_t self) {
    PlainLane lane = lanes_[self];
    Ticks* const starts = times_.start.data();
    Ticks* const ends = times_.end.data();
    for (; lane.next != lane.end; ++lane.next) {
      const Instr& instr = instrs_[lane.next];
      __builtin_prefetch(&instr + kStepsAhead);
      __builtin_prefetch(waits_ + instr.first_wait + kStepsAhead);
      __builtin_prefetch(starts + lane.next + kStepsAhead, 1);
      __builtin_prefetch(ends + lane.next + kStepsAhead, 1);
      Ticks start = lane.clock;
      for (std::uint32_t w = instr.first_wait; w != (&instr + 1)->first_wait; ++w) {
        const Wait& wait = waits_[w];
        Ticks& end = ends[wait.source];
        if (end < 0) {
          lane.next_waiter = end == kStillOpen ? kLastWaiter : static_cast<std::uint32_t>(kStillOpen - 1 - end);
          end = kStillOpen - 1 - static_cast<Ticks>(self);
          lanes_[self] = lane;
          return;
        }
        start = std::max(start, end + (wait.via == Wait::kLatency ? comm_ : 0));
      }
      lane.clock = start + durations_[instr.row];
      starts[lane.next] = start;
      const Ticks waiters = ends[lane.next];
      ends[lane.next] = lane.clock;
      if (waiters != kStillOpen) wake(static_cast<std::uint32_t>(kStillOpen - 1 - waiters));
    }
    lanes_[self] = lane;
  }

  void wake(std::uint32_t lane) {
    for (; lane != kLastWaiter; lane = lanes_[lane].next_waiter) ready_.push_back(lane);
  }

  const Instr* instrs_;
  const Wait* waits_;
  const Ticks* durations_;
  Ticks comm_;
  RunTimes times_;
  std::vector<PlainLane> lanes_;
  std::vector<std::uint32_t> ready_;  ///< lanes that can go on; the last one goes first
};

}  // namespace

bool has_plain_lanes(const Program& program) {
  const bool pairs = std::ranges::any_of(program.rows, &Row::overlapped);
  return program.transfers.empty() && program.collectives.empty() && !program.runtime.costs() && !pairs &&
         !has_jitter(program) && !is_contended(program);
}

std::optional<RunTimes> run_plain_times(const Program& program) { return PlainTimesPass(program).run(); }

}  // namespace plumb
