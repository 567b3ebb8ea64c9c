#include "sim/passes/written_totals.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <memory>

#include "models/costs/time_limits.hpp"
#include "models/ground/units.hpp"
#include "schedules/program/lane_run.hpp"
#include "sim/lanes/lanes.hpp"
#include "sim/memory/stash.hpp"
#include "sim/rules/jitter.hpp"
#include "sim/rules/load_kinds.hpp"

namespace plumb {
namespace {

constexpr std::uint32_t kNoLoop = 0xFFFFFFFFU;

__extension__ using WideSum = __int128;

/// What a part of a list adds up to, from its order alone.
struct OrderSum {
  WideSum busy = 0;
  WideSum not_useful = 0;
  WideSum waits = 0;  ///< for values from other devices
  WideSum stash = 0;  ///< what it leaves
  WideSum peak = 0;   ///< the most above what there was before, at least 0

  void add(const OrderSum& next) {
    busy += next.busy;
    not_useful += next.not_useful;
    waits += next.waits;
    peak = std::max(peak, stash + next.peak);
    stash += next.stash;
  }

  /// The same `count` times. The peak is that of the first or of the last turn.
  OrderSum times(std::int64_t count) const {
    const WideSum last = peak + std::max<WideSum>(0, stash) * (count - 1);
    return {busy * count, not_useful * count, waits * count, stash * count, last};
  }
};

/// Adds up lists, repeat by repeat.
class OrderSums {
 public:
  explicit OrderSums(const WrittenProgram& written) : written_(written), changes_(stash_changes(written.program)) {}

  OrderSum of_lane(std::size_t lane) {
    next_ = written_.loop_begin[lane];
    end_ = written_.loop_begin[lane + 1];
    return of(written_.program.lane_begin[lane], written_.program.lane_begin[lane + 1]);
  }

 private:
  OrderSum of(InstrIndex begin, InstrIndex end) {
    OrderSum sum;
    for (InstrIndex at = begin; at < end;) {
      if (next_ == end_ || written_.loops[next_].begin != at || written_.loops[next_].end > end) {
        sum.add(of_instr(at++));
        continue;
      }
      const WrittenProgram::Loop& loop = written_.loops[next_++];
      sum.add(of(loop.begin, loop.end).times(loop.count));
      at = loop.end;
    }
    return sum;
  }

  OrderSum of_instr(InstrIndex at) const {
    const Program& program = written_.program;
    const std::uint32_t row = program.instrs[at].row;
    const Ticks duration = program.durations[row];
    const WideSum start = changes_.at_start[row];
    return {.busy = duration,
            .not_useful = duration - useful_share(program, row, duration),
            .waits = written_.takes[at] == WrittenProgram::kNoStream ? 0 : 1,
            .stash = start + changes_.at_end[row],
            .peak = start};
  }

  const WrittenProgram& written_;
  StashChanges changes_;
  std::uint32_t next_ = 0;  ///< the loop that has not been entered yet
  std::uint32_t end_ = 0;
};

/// Moments that one lane gives and another one takes, in order. A few have room in the stream itself, one line of the
/// cache; more get a ring of their own, which goes when it is empty.
class alignas(64) ValueStream {
 public:
  bool empty() const { return head_ == tail_; }

  void push(Ticks moment) {
    if (tail_ - head_ == size_) [[unlikely]]
      grow();
    slots()[tail_++ & (size_ - 1)] = moment;
  }

  /// Requires that there is one.
  Ticks pop() {
    const Ticks moment = slots()[head_++ & (size_ - 1)];
    if (size_ > kLargestKept && empty()) [[unlikely]]
      shrink();
    return moment;
  }

  std::uint32_t taker = 0;  ///< the lane that takes
  bool awaited = false;     ///< it has stopped because the stream is empty
  bool stays = false;       ///< the lane that gives is the same

 private:
  static constexpr std::uint32_t kInside = 4;
  static constexpr std::uint32_t kLargestKept = 64;

  Ticks* slots() { return size_ == kInside ? inside_ : ring_.get(); }

  void grow() {
    auto larger = std::make_unique<Ticks[]>(2 * std::size_t{size_});
    for (std::uint32_t at = head_; at != tail_; ++at) larger[at & (2 * size_ - 1)] = slots()[at & (size_ - 1)];
    ring_ = std::move(larger);
    size_ *= 2;
  }

  void shrink() {
    ring_.reset();
    size_ = kInside;
  }

  std::uint32_t head_ = 0;  ///< counts what was taken; both wrap around
  std::uint32_t tail_ = 0;  ///< counts what was given
  std::uint32_t size_ = kInside;
  std::unique_ptr<Ticks[]> ring_;
  Ticks inside_[kInside]{};
};

static_assert(sizeof(ValueStream) == 64);

/// An instr as the run needs it.
struct WrittenStep {
  Ticks duration = 0;
  std::uint32_t takes = WrittenProgram::kNoStream;
  std::uint32_t gives = WrittenProgram::kNoStream;
  std::uint32_t closes = kNoLoop;  ///< the innermost loop whose turn ends after it
  bool is_update = false;
};

struct OpenLoop {
  InstrIndex begin = 0;
  std::uint32_t around = kNoLoop;  ///< the loop that ends after the same instr
  std::int64_t left = 0;           ///< turns after this one
  std::int64_t turns = 0;          ///< all but one of them
};

struct WrittenLane {
  InstrIndex next = 0;
  InstrIndex end = 0;
  bool started = false;
  Ticks clock = 0;
  Ticks latency = 0;
};

class WrittenPass {
 public:
  explicit WrittenPass(const WrittenProgram& written)
      : written_(written),
        comm_(written.program.comm.value_or(0)),
        streams_(written.takers.size()),
        lanes_(static_cast<std::size_t>(written.program.num_devices)),
        totals_(lanes_.size()),
        first_update_(lanes_.size()),
        run_(lanes_.size()) {
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      streams_[s].taker = static_cast<std::uint32_t>(index(written.takers[s]));
      streams_[s].stays = written.givers[s] == written.takers[s];
    }
    const Program& program = written.program;
    for (std::size_t at = 0; at < program.instrs.size(); ++at) {
      const std::uint32_t row = program.instrs[at].row;
      steps_.push_back({.duration = program.durations[row],
                        .takes = written.takes[at],
                        .gives = written.gives[at],
                        .is_update = program.rows[row].op == Op::kU});
    }
    // Inner loops come after those around them, so that the innermost one is the first to be left.
    for (std::uint32_t number = 0; number < written.loops.size(); ++number) {
      const WrittenProgram::Loop& loop = written.loops[number];
      std::uint32_t& closes = steps_[loop.end - 1].closes;
      loops_.push_back({.begin = loop.begin, .around = closes, .left = loop.count - 1, .turns = loop.count - 1});
      closes = number;
    }
    for (std::size_t d = 0; d < lanes_.size(); ++d) {
      lanes_[d].next = program.lane_begin[d];
      lanes_[d].end = program.lane_begin[d + 1];
    }
  }

  /// False when lanes wait for each other.
  bool run() {
    run_.wake_all();
    if (comm_ == 0) {
      run_.run([&](std::uint32_t lane) { advance<false>(lane); });
    } else {
      run_.run([&](std::uint32_t lane) { advance<true>(lane); });
    }
    return std::ranges::all_of(lanes_, [](const WrittenLane& lane) { return lane.next == lane.end; });
  }

  /// What the run has found out about a lane.
  LaneTotals totals(std::size_t lane) const {
    LaneTotals totals = totals_[lane];
    totals.last_end = lanes_[lane].clock;
    totals.latency = lanes_[lane].latency;
    return totals;
  }

 private:
  /// Runs `lane` until it is done or has to wait.
  template <bool kLatency>
  void advance(std::uint32_t self) {
    WrittenLane lane = lanes_[self];
    while (lane.next != lane.end) {
      const WrittenStep& step = steps_[lane.next];
      Ticks start = lane.clock;
      Ticks latency = 0;
      if (step.takes != WrittenProgram::kNoStream) {
        ValueStream& stream = streams_[step.takes];
        if (stream.empty()) {
          stream.awaited = true;
          break;
        }
        start = std::max(start, stream.pop());  // the latency is over then
        if constexpr (kLatency) latency = std::min(start - lane.clock, stream.stays ? 0 : comm_);
      }
      if (!lane.started) [[unlikely]] {
        lane.started = true;
        totals_[self].first_start = start;
      } else if constexpr (kLatency) {
        lane.latency += latency;
      }
      lane.clock = start + step.duration;
      if (step.gives != WrittenProgram::kNoStream) give<kLatency>(step.gives, lane.clock);
      if (step.is_update) [[unlikely]]
        note_update(self, lane);
      lane.next = step.closes == kNoLoop ? lane.next + 1 : after_turn(lane.next, step.closes);
    }
    lanes_[self] = lane;
  }

  template <bool kLatency>
  void give(std::uint32_t number, Ticks moment) {
    ValueStream& stream = streams_[number];
    if constexpr (kLatency) moment += stream.stays ? 0 : comm_;
    stream.push(moment);
    if (!stream.awaited) return;
    stream.awaited = false;
    run_.wake(stream.taker);
  }

  /// The instr that comes after `at`, which ends a turn of `loop`.
  InstrIndex after_turn(InstrIndex at, std::uint32_t loop) {
    for (; loop != kNoLoop; loop = loops_[loop].around) {
      OpenLoop& open = loops_[loop];
      if (open.left > 0) {
        --open.left;
        return open.begin;
      }
      open.left = open.turns;
    }
    return at + 1;
  }

  void note_update(std::uint32_t self, const WrittenLane& lane) {
    LaneTotals& totals = totals_[self];
    totals.last_update = lane.clock;
    const std::int64_t number = update_at(self, lane.next);
    if (totals.first_update < 0) first_update_[self] = number;
    if (first_update_[self] == number) totals.first_update = lane.clock;
  }

  /// The number of the update that is made at an instr now.
  std::int64_t update_at(std::uint32_t self, InstrIndex at) const {
    std::int64_t number = static_cast<std::int32_t>(written_.program.instrs[at].action.microbatch);
    for (std::uint32_t l = written_.loop_begin[self]; l < written_.loop_begin[self + 1]; ++l) {
      const WrittenProgram::Loop& loop = written_.loops[l];
      if (at >= loop.begin && at < loop.end) number += (loops_[l].turns - loops_[l].left) * loop.advance.update;
    }
    return number;
  }

  const WrittenProgram& written_;
  Ticks comm_;
  std::vector<WrittenStep> steps_;
  std::vector<OpenLoop> loops_;
  std::vector<ValueStream> streams_;
  std::vector<WrittenLane> lanes_;
  std::vector<LaneTotals> totals_;
  std::vector<std::int64_t> first_update_;  ///< by lane: number of its first U; several stages share it
  TimedRun run_;                            ///< its lanes wait for streams
};

bool fits_word(WideSum value) {
  return value >= std::numeric_limits<std::int64_t>::min() && value <= std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::optional<std::vector<LaneTotals>> run_written(const WrittenProgram& written) {
  const Program& program = written.program;
  assert(!has_jitter(program) && !is_contended(program));
  OrderSums sums(written);
  std::vector<OrderSum> lanes;
  WideSum all = 0;
  for (std::size_t d = 0; d + 1 < program.lane_begin.size(); ++d) {
    lanes.push_back(sums.of_lane(d));
    all += lanes.back().busy + lanes.back().waits * program.comm.value_or(0);
    if (all > kMostRun || !fits_word(lanes.back().peak) || !fits_word(lanes.back().stash)) return std::nullopt;
  }
  WrittenPass pass(written);
  if (!pass.run()) return std::nullopt;
  std::vector<LaneTotals> totals;
  for (std::size_t d = 0; d < lanes.size(); ++d) {
    LaneTotals& lane = totals.emplace_back(pass.totals(d));
    lane.busy = static_cast<Ticks>(lanes[d].busy);
    lane.useful = static_cast<Ticks>(lanes[d].busy - lanes[d].not_useful);
    lane.peak_stash = static_cast<std::int64_t>(lanes[d].peak);
  }
  return totals;
}

}  // namespace plumb
