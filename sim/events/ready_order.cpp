#include "sim/events/ready_order.hpp"
#include "schedules/program/lane_run.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/program/program_index.hpp"
#include "schedules/program/waits.hpp"
#include "schedules/rules/dependency_rules.hpp"
#include "sim/events/link_servers.hpp"
#include "sim/memory/stash.hpp"
#include "sim/rules/jitter.hpp"

namespace plumb {
namespace {

/// What may overtake what in one lane, and what that does to memory.
class Overtaking {
 public:
  Overtaking(const Schedule& schedule, const Program& program, bool updates_may_wait)
      : schedule_(schedule),
        program_(program),
        rules_(schedule),
        stash_(stash_changes(program)),
        updates_may_wait_(updates_may_wait) {}

  /// Whether `later` may run before `earlier`, which stands before it in the lane.
  bool may_overtake(InstrIndex later, InstrIndex earlier) const {
    const Row& a = row(earlier);
    const Row& b = row(later);
    if (stands_fast(a.op) || stands_fast(b.op)) return false;
    const bool at_update = a.holder == b.holder && (holds_back(a.op) || holds_back(b.op));
    if (at_update && !reads_without(later, earlier)) return false;
    bool free = true;
    rules_.for_each(program_.instrs[later].action, [&](const Action& needed, DependencyKind) {
      if (makes(program_.instrs[earlier].action, needed)) free = false;
    });
    return free;
  }

  /// Change of the device's stash by the unit [first, end): never negative before it is over.
  std::int64_t stash_change(InstrIndex first, InstrIndex end) const {
    std::int64_t change = 0;
    for (InstrIndex i = first; i != end; ++i) change += stash_.net(program_.instrs[i].row);
    return change;
  }

  /// Most that the lane keeps in its own order.
  std::int64_t peak(InstrIndex begin, InstrIndex end) const {
    std::int64_t level = 0;
    std::int64_t most = 0;
    for (InstrIndex i = begin; i != end; ++i) most = std::max(most, level += stash_.net(program_.instrs[i].row));
    return most;
  }

 private:
  const Row& row(InstrIndex i) const { return program_.rows[program_.instrs[i].row]; }

  static bool stands_fast(Op op) { return op == Op::kX || op == Op::kV || is_move(op); }
  static bool holds_back(Op op) { return op == Op::kU || joins_collective(op); }

  /// Whether `later` is a forward that may read its weights before `earlier`, an update or its reduction, changes them.
  bool reads_without(InstrIndex later, InstrIndex earlier) const {
    const Action& forward = program_.instrs[later].action;
    if (!updates_may_wait_ || forward.op != Op::kF || !holds_back(row(earlier).op)) return false;
    const std::int64_t update = static_cast<std::int64_t>(forward.microbatch) / schedule_.per_update(forward.stage);
    const WeightPolicy policy = schedule_.policy_of(forward.stage, update);
    if (policy == WeightPolicy::kFlush) return false;
    if (policy != WeightPolicy::kDoubleBuffer && policy != WeightPolicy::kDelay) return true;
    const std::int64_t late = policy == WeightPolicy::kDelay ? schedule_.weights.delay : 1;
    const Action& changes = program_.instrs[earlier].action;
    return changes.op != Op::kU || static_cast<std::int64_t>(changes.microbatch) >= update - late;
  }

  /// Whether `action` is what `needed` asks for.
  static bool makes(const Action& action, const Action& needed) {
    const bool same_op = needed.op == Op::kB ? is_backward(action.op) : action.op == needed.op;
    const auto first = static_cast<std::int64_t>(action.microbatch);
    const auto wanted = static_cast<std::int64_t>(needed.microbatch);
    return same_op && action.stage == needed.stage && action.replica == needed.replica && wanted >= first &&
           wanted <= first + action.merged &&
           (action.slice == needed.slice || action.slice == Action::kAllSlices || needed.slice == Action::kAllSlices);
  }

  const Schedule& schedule_;
  const Program& program_;
  DependencyRules rules_;
  StashChanges stash_;
  bool updates_may_wait_;
};

struct ReadyLane {
  InstrIndex begin = 0;
  InstrIndex end = 0;
  InstrIndex head = 0;  ///< everything before it is done or running
  bool running = false;
  InstrIndex unit = 0;  ///< the running one
  std::int64_t stash = 0;
  std::int64_t stash_limit = 0;
  std::int64_t kept = 0;
  std::int64_t forwards = 0;
  std::vector<Ticks> freed;  ///< ends of backwards (B or W)
  std::vector<InstrIndex> order;
};

class ReadyRun {
 public:
  ReadyRun(const Schedule& schedule, const Program& program, const ReadyPolicy& policy, const ReadyOptions& options)
      : program_(program),
        policy_(policy),
        options_(options),
        overtaking_(schedule, program, options.updates_may_wait),
        queue_(static_cast<std::size_t>(program.num_devices) + program.channels.size()),
        run_(static_cast<std::size_t>(program.num_devices)),
        links_(program, TransferMode::kBuffered, queue_, run_, times_),
        started_(program.size(), false),
        indexed_(program),
        made_(indexed_.made()) {
    times_.end.assign(program.size(), TimedRun::kUnknown);
    times_.collective_end.assign(program.collectives.size(), TimedRun::kUnknown);
    for (std::size_t d = 0; d + 1 < program.lane_begin.size(); ++d) {
      ReadyLane& lane = lanes_.emplace_back();
      lane.begin = lane.head = program.lane_begin[d];
      lane.end = program.lane_begin[d + 1];
      lane.stash_limit = overtaking_.peak(lane.begin, lane.end);
      undecided_.insert(static_cast<std::uint32_t>(d));
    }
    index_waits();
    if (options.recompute_in_time) index_replays();
    for (const Collective& collective : program.collectives) missing_.push_back(collective.members.size());
  }

  /// Runs to the end and returns the makespan.
  Ticks run() {
    const auto lanes = static_cast<std::uint32_t>(lanes_.size());
    for (Ticks now = 0;;) {
      if (queue_.empty() || queue_.first().time > now) {
        if (!links_.is_up_to_date()) {
          links_.update(now);
          continue;
        }
        if (!undecided_.empty()) {
          decide_all(now);
          continue;
        }
      }
      if (queue_.empty()) {
        check_done();
        return now;
      }
      const EventQueue::Event event = queue_.take();
      now = event.time;
      if (event.slot >= lanes) {
        undecided_.insert(lane_of(program_.transfers[links_.finish(event.slot - lanes, now)].consumer));
      } else {
        if (lanes_[event.slot].running) end_unit(lanes_[event.slot], now);
        undecided_.insert(event.slot);
      }
    }
  }

  const std::vector<InstrIndex>& order(std::size_t device) const { return lanes_[device].order; }

 private:
  /// Only what a policy holds back can be left.
  void check_done() const {
    for (std::size_t d = 0; d < lanes_.size(); ++d) {
      if (lanes_[d].head == lanes_[d].end) continue;
      throw Error("policy: device " + std::to_string(d) + " keeps " + std::to_string(lanes_[d].kept) +
                  " microbatches and can do nothing else; expected a larger limit");
    }
  }

  void index_waits() {
    wait_lane_.resize(program_.waits.size());
    for (std::uint32_t d = 0; d < lanes_.size(); ++d) {
      const std::uint32_t end = program_.instrs[lanes_[d].end].first_wait;
      for (std::uint32_t w = program_.instrs[lanes_[d].begin].first_wait; w < end; ++w) wait_lane_[w] = d;
    }
    waits_for_ =
        group_by(program_.waits.size(), program_.size(), [&](std::size_t w) { return program_.waits[w].source; });
  }

  std::uint32_t lane_of(InstrIndex i) const {
    return static_cast<std::uint32_t>(index(program_.holders[program_.rows[program_.instrs[i].row].holder].device));
  }

  void end_unit(ReadyLane& lane, Ticks now) {
    lane.running = false;
    for (InstrIndex i = lane.unit; i != unit_end(program_, lane.unit); ++i) {
      times_.end[i] = now;
      const Op op = program_.instrs[i].action.op;
      if (op == Op::kB || op == Op::kW) lane.freed.push_back(now);
      for (const std::uint32_t t : made_.of(i)) links_.offer(program_.transfers[t].channel, t, now);
      for (const std::uint32_t w : waits_for_.of(i)) undecided_.insert(wait_lane_[w]);
      if (joins_collective(program_.rows[program_.instrs[i].row].op)) join(i, now);
    }
    while (lane.head != lane.end && started_[lane.head]) ++lane.head;
  }

  void join(InstrIndex member, Ticks now) {
    for (std::size_t c = 0; c < program_.collectives.size(); ++c) {
      if (std::ranges::find(program_.collectives[c].members, member) == program_.collectives[c].members.end()) continue;
      if (--missing_[c] != 0) continue;
      times_.collective_end[c] = now + program_.collectives[c].duration;
      for (const InstrIndex other : program_.collectives[c].members) undecided_.insert(lane_of(other));
    }
  }

  void decide_all(Ticks now) {
    for (const std::uint32_t d : std::exchange(undecided_, {})) {
      if (!lanes_[d].running) decide(d, now);
    }
  }

  /// Starts what the policy chooses among what is ready, or comes back when the next input is there.
  void decide(std::uint32_t self, Ticks now) {
    ReadyLane& lane = lanes_[self];
    std::vector<ReadyAction> ready;
    std::vector<InstrIndex> units;
    std::optional<Ticks> next;
    scan(lane, [&](InstrIndex unit, std::size_t overtakes) {
      const std::optional<Ticks> inputs = inputs_at(unit);
      if (!inputs) return;
      if (*inputs <= now) {
        ready.push_back({program_.instrs[unit].action, overtakes, *inputs});
        units.push_back(unit);
      } else if (!next || *inputs < *next) {
        next = *inputs;
      }
    });
    std::optional<std::size_t> chosen;
    if (!ready.empty()) {
      const DeviceId device{static_cast<std::int32_t>(self)};
      chosen = policy_.choose(ready, {device, lane.kept, lane.forwards, lane.freed});
    }
    if (chosen) {
      assert(*chosen < ready.size());
      start(lane, self, units[*chosen], now);
    } else if (next) {
      queue_.schedule(self, *next);
    }
  }

  void start(ReadyLane& lane, std::uint32_t self, InstrIndex unit, Ticks now) {
    lane.running = true;
    lane.unit = unit;
    const InstrIndex end = unit_end(program_, unit);
    const Ticks ended = now + duration_of(program_, unit, DeviceId{static_cast<std::int32_t>(self)}, options_.seed);
    for (InstrIndex i = unit; i != end; ++i) {
      started_[i] = true;
      lane.order.push_back(i);
      const Op op = program_.instrs[i].action.op;
      if (op == Op::kF) ++lane.kept;
      if (op == Op::kF) ++lane.forwards;
      if (op == Op::kB || op == Op::kW) --lane.kept;
      if (!expected_end_.empty()) expect(i, now, ended);
    }
    lane.stash += overtaking_.stash_change(unit, end);
    queue_.schedule(self, ended);
  }

  /// A gradient is on its way: whoever replays its forward may begin.
  void expect(InstrIndex backward, Ticks now, Ticks end) {
    expected_end_[backward] = {now, end};
    for (const std::uint32_t w : waits_for_.of(backward)) undecided_.insert(wait_lane_[w]);
  }

  /// When an R may begin that is over when its gradient arrives (sent when the backward ends; by a link, in no time).
  std::optional<Ticks> in_time(InstrIndex replay) const {
    const auto backward = backward_of_.find(replay);
    if (backward == backward_of_.end()) return 0;
    const InstrIndex after = unit_end(program_, backward->second);
    for (const Wait& wait : waits_of(program_, backward->second, after)) {
      if (is_for_collective(wait)) continue;
      const auto [started, end] = expected_end_[wait.source];
      if (!TimedRun::is_known(end)) return std::nullopt;
      return std::max(started, end + latency_of(program_, wait) - program_.durations[program_.instrs[replay].row]);
    }
    return 0;
  }

  /// The backward of every R, which stands after it in its lane.
  void index_replays() {
    expected_end_.assign(program_.size(), {TimedRun::kUnknown, TimedRun::kUnknown});
    for (const ReadyLane& lane : lanes_) {
      std::map<std::tuple<StageId, ReplicaId, MicrobatchId>, InstrIndex> replays;
      for (InstrIndex i = lane.begin; i != lane.end; ++i) {
        const Action& action = program_.instrs[i].action;
        const std::tuple work{action.stage, action.replica, action.microbatch};
        if (action.op == Op::kR) replays[work] = i;
        if (is_backward(action.op) && replays.contains(work)) backward_of_[replays[work]] = i;
      }
    }
  }

  /// Visits the units of the window that may run now as far as the lane is concerned.
  template <class Visit>
  void scan(const ReadyLane& lane, Visit&& visit) const {
    std::vector<InstrIndex> before;      // instrs that stand before and have not run
    std::vector<std::uint32_t> offered;  // rows
    std::int64_t level = lane.stash;
    std::int64_t most = lane.stash;
    std::size_t seen = 0;
    for (InstrIndex unit = lane.head; unit != lane.end && seen < options_.window;) {
      const InstrIndex end = unit_end(program_, unit);
      if (!started_[unit]) {
        ++seen;
        const std::int64_t change = overtaking_.stash_change(unit, end);
        const bool fits = before.empty() || !options_.keep_memory || change <= 0 || most + change <= lane.stash_limit;
        const std::uint32_t row = program_.instrs[unit].row;
        const bool younger = options_.oldest_only && std::ranges::find(offered, row) != offered.end();
        const bool waits = options_.oldest_only && !inputs_at(unit);
        if (fits && !younger && !waits && may_overtake_all(unit, end, before)) {
          visit(unit, before.size());
          offered.push_back(row);
        }
        for (InstrIndex i = unit; i != end; ++i) before.push_back(i);
        most = std::max(most, level += change);
      }
      unit = end;
    }
  }

  bool may_overtake_all(InstrIndex unit, InstrIndex end, const std::vector<InstrIndex>& before) const {
    return std::ranges::all_of(before, [&](InstrIndex earlier) {
      for (InstrIndex i = unit; i != end; ++i) {
        if (!overtaking_.may_overtake(i, earlier)) return false;
      }
      return true;
    });
  }

  /// When all inputs of the unit are there; nothing when that is not known yet.
  std::optional<Ticks> inputs_at(InstrIndex unit) const {
    Ticks at = 0;
    const auto is_there = [&](const Wait& wait) {
      at = std::max(at, over_at(program_, times_, wait));
      return TimedRun::is_known(moment_of(times_, wait));
    };
    if (!all_waits(program_, unit, unit_end(program_, unit), is_there)) return std::nullopt;
    if (expected_end_.empty() || program_.instrs[unit].action.op != Op::kR) return at;
    const std::optional<Ticks> begin = in_time(unit);
    return begin ? std::optional(std::max(at, *begin)) : std::nullopt;
  }

  const Program& program_;
  const ReadyPolicy& policy_;
  const ReadyOptions& options_;
  Overtaking overtaking_;
  RunTimes times_;  ///< ends, messages and collectives; nobody needs the starts
  EventQueue queue_;
  TimedRun run_;
  LinkServers links_;
  std::vector<ReadyLane> lanes_;
  std::vector<bool> started_;          ///< by instr
  std::set<std::uint32_t> undecided_;  ///< lanes that may have something to start
  ProgramIndex indexed_;
  const IndexLists& made_;                             ///< transfers by producer
  IndexLists waits_for_;                               ///< waits by source
  std::vector<std::uint32_t> wait_lane_;               ///< by wait: the device that waits
  std::vector<std::size_t> missing_;                   ///< by collective: members that have not joined
  std::vector<std::pair<Ticks, Ticks>> expected_end_;  ///< by instr: when it began and will end; with R in time only
  std::map<InstrIndex, InstrIndex> backward_of_;       ///< by R
};

}  // namespace

std::optional<std::size_t> BackwardFirst::choose(std::span<const ReadyAction> ready, const ReadyDevice&) const {
  const auto backward = std::ranges::find_if(ready, [](const ReadyAction& one) { return is_backward(one.action.op); });
  return backward == ready.end() ? 0 : static_cast<std::size_t>(backward - ready.begin());
}

RunTimeOrder run_time_order(const Schedule& schedule, const Program& program, const ReadyPolicy& policy,
                            const ReadyOptions& options) {
  if (!schedule.extra_edges.empty()) {
    throw Error("schedule '" + schedule.name +
                "': extra_edges cannot be kept when the order is relaxed; expected none");
  }
  if (!schedule.start_together.empty()) {
    throw Error("schedule '" + schedule.name +
                "': start_together cannot be kept when the order is relaxed; expected none");
  }
  ReadyRun run(schedule, program, policy, options);
  RunTimeOrder result{schedule, run.run()};
  for (std::size_t d = 0; d < result.schedule.devices.size(); ++d) {
    DeviceList list;
    for (const InstrIndex i : run.order(d)) list.actions.push_back(program.instrs[i].action);
    assert(list.actions.size() == program.lane_begin[d + 1] - program.lane_begin[d]);
    result.schedule.devices[d] = std::move(list);
  }
  return result;
}

}  // namespace plumb
