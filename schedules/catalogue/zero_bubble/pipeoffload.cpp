#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/zero_bubble/gis_order.hpp"
#include "schedules/program/list_times.hpp"

namespace plumb {
namespace {

using Spans = std::vector<ListTimes::Span>;
using StashKey = std::pair<StageId, MicrobatchId>;

StashKey stash_key_of(const Action& action) { return {action.stage, action.microbatch}; }

/// A move at the time when its copy begins.
struct TimedMove {
  Ticks start = 0;
  Ticks possible = 0;  ///< the earliest start
  Op op{};
  StashKey key;

  friend bool operator<(const TimedMove& a, const TimedMove& b) {
    return std::tie(a.start, a.op) < std::tie(b.start, b.op);
  }
};

/// How long copies take on the link to the host that a pair of devices shares.
struct CopyTimes {
  Ticks both_ways = 0;  ///< while others come back
  Ticks solo = 0;       ///< while nothing comes back
};

/// Chooses when the stashes of one device go to the host and come back. Out and back take turns, and the odd device of
/// a pair goes out while the even one comes back.
class OffloadPlan {
 public:
  OffloadPlan(const Spans& spans, std::int32_t last_stage, CopyTimes copies, Ticks phase)
      : spans_(spans), copy_(copies.both_ways), solo_(copies.solo), phase_(phase) {
    constexpr Ticks kWorthwhile = 6;  // copies that must fit between forward and backward
    std::map<StashKey, Ticks> forward_end;
    for (const auto& [action, start, end] : spans) {
      if (static_cast<std::int32_t>(action.stage) > last_stage) continue;
      if (action.op == Op::kF) forward_end[stash_key_of(action)] = end;
      if (action.op != Op::kI) continue;
      const Ticks length = end - start;
      if (start - length - forward_end.at(stash_key_of(action)) > kWorthwhile * copy_)
        keys_.insert(stash_key_of(action));
    }
  }

  /// All moves by time. Stashes for which no slots remain stay.
  std::vector<TimedMove> moves() {
    std::vector<TimedMove> moves;
    while (!try_moves(moves)) moves.clear();
    close_up(moves);
    std::sort(moves.begin(), moves.end());
    return moves;
  }

 private:
  /// False when a stash would have to come back before it is gone; it stays then.
  bool try_moves(std::vector<TimedMove>& moves) {
    std::map<StashKey, Ticks> gone;
    Ticks slot = phase_;
    for (const auto& [action, start, end] : spans_) {
      if (action.op != Op::kF || !keys_.contains(stash_key_of(action))) continue;
      while (slot < end) slot += 2 * copy_;
      moves.push_back({slot, end, Op::kEvict, stash_key_of(action)});
      gone[stash_key_of(action)] = slot + copy_;
      slot += 2 * copy_;
    }
    while (slot < spans_.back().end) slot += 2 * copy_;
    bool possible = true;
    for (auto span = spans_.rbegin(); span != spans_.rend(); ++span) {  // the latest slot in time, from the end
      if (span->action.op != Op::kI || !keys_.contains(stash_key_of(span->action))) continue;
      const Ticks needed = span->start - (span->end - span->start);
      while (slot > needed) slot -= 2 * copy_;
      if (slot - copy_ <= gone.at(stash_key_of(span->action))) {
        possible = false;
        keys_.erase(stash_key_of(span->action));
      }
      moves.push_back({slot - copy_, slot - copy_, Op::kLoad, stash_key_of(span->action)});
      slot -= 2 * copy_;
    }
    return possible;
  }

  /// Until the first stash comes back, those that go out need not take turns with it, only with those of the partner.
  void close_up(std::vector<TimedMove>& moves) const {
    Ticks first_back = spans_.back().end;
    for (const TimedMove& move : moves) {
      if (move.op == Op::kLoad) first_back = std::min(first_back, move.start);
    }
    Ticks free = 0;
    for (TimedMove& move : moves) {
      if (move.op != Op::kEvict) continue;
      const Ticks earlier = std::max(free, move.possible);
      if (earlier < move.start && earlier + copy_ <= first_back) move.start = earlier;
      free = move.start + 2 * solo_;
    }
  }

  const Spans& spans_;
  Ticks copy_;
  Ticks solo_;
  Ticks phase_;
  std::set<StashKey> keys_;
};

/// The time of one copy: the largest of EVICT and LOAD, a quarter of the longest stage where none is given.
Ticks copy_time(const ScheduleParams& params, const PassCosts& costs) {
  Ticks longest = 0;
  Ticks given = 0;
  for (const StagePasses& stage : costs.stages) longest = std::max(longest, stage.time());
  if (params.costs) {
    for (const StageTimes& times : params.costs(static_cast<std::int32_t>(costs.stages.size())).times) {
      given = std::max({given, times.evict, times.load});
    }
  }
  return given > 0 ? given : std::max<Ticks>(1, longest / 4);
}

/// Appends the actions of `spans` with `moves` at their times: what goes out when the action before is over, what comes
/// back before the action that runs then, so that it is not late.
void write_with_moves(const Spans& spans, const std::vector<TimedMove>& moves, ListBuilder& list) {
  auto next = moves.begin();
  for (const auto& [action, start, end] : spans) {
    for (; next != moves.end() && (next->op == Op::kLoad ? next->start < end : next->start <= start); ++next) {
      Action move;
      move.op = next->op;
      std::tie(move.stage, move.microbatch) = next->key;
      move.where = Action::kHost;
      list.add_all({&move, 1});
    }
    list.add_all({&action, 1});
  }
}

}  // namespace

/// The order of `gis` with the stashes of the first `offload=N` chunks (default: all) of every device in host memory
/// between forward and backward, where that is long enough. Copies of two neighbouring devices share a link; one copy
/// takes as long as EVICT or LOAD, by default a quarter of F + I + W. With everything offloaded a device keeps a
/// handful of stashes whatever p and m are. `group=N` as of `gis`. `solo=N`: a copy takes N % of its time (default 70)
/// while nothing comes back; 100 for links whose directions do not slow each other down. (Wan et al., PipeOffload,
/// arXiv 2503.01328, and its released code; without its last touch, warm-up forwards as late as possible)
///
///   p = 2, m = 3, v = 2 (all moves @host)
///   d0: 0F0 0EVICT0 0F1 2F0 0EVICT1 2F1 2I0 2W0 0F2 0LOAD0 2I1 0EVICT2 2W1 0LOAD1 0I0 0W0 2F2 0I1 0LOAD2 0W1 2I2 2W2
///   0I2
///       0W2 0U0 2U0
///   d1: 1F0 1EVICT0 1F1 3F0 1EVICT1 3I0 3W0 3F1 1LOAD0 3I1 3W1 1LOAD1 1F2 1I0 1W0 1EVICT2 1I1 1W1 3F2 1LOAD2 3I2 3W2
///   1I2
///       1W2 1U0 3U0
Schedule pipeoffload(const ScheduleParams& params) {
  const std::int32_t chunks = gis_chunks(params);
  const std::int32_t p = params.num_devices;
  require_searchable("pipeoffload", params, chunks * p);
  PassCosts costs = pass_costs(params, chunks * p);
  if (!params.costs) {
    for (StagePasses& stage : costs.stages) stage.f.time = stage.i.time = stage.w.time = 40;  // shares stay whole
  }
  const GisOrder order = gis_order("pipeoffload", params, costs);
  const std::int64_t offload = whole_number("pipeoffload", params, "offload", chunks);
  require(offload <= chunks, "pipeoffload",
          "offload (" + std::to_string(offload) + ") must be at most the chunks per device (" + std::to_string(chunks) +
              ")");
  ScheduleParams one_update = params;
  one_update.updates = 1;
  Schedule step = looped_schedule("pipeoffload", one_update, chunks, 1);
  for (std::int32_t d = 0; d < p; ++d) {
    ListBuilder list;
    order.write(d, params.num_microbatches, list);
    step.devices.push_back(list.take());
  }
  const auto duration = [&](const Action& action) {
    const StagePasses& stage = costs.stages[index(action.stage)];
    return action.op == Op::kF ? stage.f.time : action.op == Op::kI ? stage.i.time : stage.w.time;
  };
  const ListTimes times = list_times(step, duration, costs.comm);
  const std::int64_t solo = whole_number("pipeoffload", params, "solo", 70);
  require(solo <= 100, "pipeoffload", "solo (" + std::to_string(solo) + ") must be at most 100, in percent");
  const Ticks copy = copy_time(params, costs);
  const CopyTimes copies{.both_ways = copy, .solo = std::max<Ticks>(1, copy / 100 * solo + copy % 100 * solo / 100)};
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("pipeoffload", params, chunks, updates);
  schedule.parameters["group"] = order.group;
  for (std::int32_t d = 0; d < p; ++d) {
    const Spans& spans = times.devices[static_cast<std::size_t>(d)];
    const auto last_stage = static_cast<std::int32_t>(offload) * p - 1;
    const auto moves = OffloadPlan(spans, last_stage, copies, d % 2 == 0 ? 0 : copy).moves();
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      write_with_moves(spans, moves, list);
      for (std::int32_t chunk = 0; chunk < chunks; ++chunk) list.add(StageId{chunk * p + d}, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
