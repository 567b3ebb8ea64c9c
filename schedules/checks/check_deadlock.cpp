#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/checks/list_contents.hpp"
#include "schedules/document/list_cursor.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/rules/dependency_rules.hpp"

namespace plumb {
namespace {

/// What an action waits for and which device will do it.
struct Blocker {
  Action needed;
  std::size_t device = 0;
  bool extra = false;  ///< by an extra edge, not by rule
};

/// Calls `visit` with the action for each of its microbatches.
template <class Visit>
void for_each_microbatch(Action action, Visit visit) {
  const int more = action.merged;
  action.merged = 0;
  for (int i = 0; i <= more; ++i) {
    visit(action);
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(action.microbatch) + 1};
  }
}

/// The ends of `extra_edges`, which may be any op.
class ExtraEnds {
 public:
  explicit ExtraEnds(const Schedule& schedule) {
    for (const ExtraEdge& edge : schedule.extra_edges) {
      ends_.push_back({edge.before, {}, std::nullopt, false});
      ends_.push_back({edge.after, {}, std::nullopt, false});
    }
    const auto before = [](const Extra& a, const Extra& b) { return key(a.action) < key(b.action); };
    std::sort(ends_.begin(), ends_.end(), before);
    for (const ExtraEdge& edge : schedule.extra_edges) find(edge.after)->needs.push_back(edge.before);
  }

  struct Extra {
    Action action;
    std::vector<Action> needs;
    std::optional<std::size_t> device;  ///< whose list holds it
    bool done = false;
  };

  bool empty() const { return ends_.empty(); }

  /// The first entry of the action; null when no edge names it.
  Extra* find(const Action& action) {
    const auto before = [](const Extra& a, const Action& b) { return key(a.action) < key(b); };
    const auto found = std::lower_bound(ends_.begin(), ends_.end(), action, before);
    return found != ends_.end() && key(found->action) == key(action) ? &*found : nullptr;
  }

  const std::vector<Extra>& all() const { return ends_; }

 private:
  static std::tuple<StageId, Op, MicrobatchId, ReplicaId, std::int16_t> key(const Action& a) {
    return {a.stage, a.op, a.microbatch, a.replica, a.slice};
  }

  std::vector<Extra> ends_;
};

/// Runs the lists without time: every device goes as far as it can, and wakes those that wait for it.
class Run {
 public:
  Run(const Schedule& schedule, const ListContents& contents)
      : schedule_(schedule), seen_(contents.seen), rules_(schedule), extras_(schedule), done_(schedule) {
    for (const DeviceList& list : schedule.devices) cursors_.emplace_back(list);
    waiting_on_.resize(cursors_.size());
  }

  void locate_extras(Findings& findings) {
    for (std::size_t device = 0; device < cursors_.size() && !extras_.empty(); ++device) {
      for (ListCursor at(schedule_.devices[device]); !at.at_end(); at.step()) {
        for_each_microbatch(at.action(), [&](const Action& one) {
          if (auto* extra = extras_.find(one); extra != nullptr && !extra->device) extra->device = device;
        });
      }
    }
    for (const auto& extra : extras_.all()) {
      if (extra.device || extras_.find(extra.action) != &extra) continue;
      findings.add(0, 0, to_string(extra.action), "extra_edges name it, but it is in no list");
    }
  }

  void run() {
    std::vector<std::size_t> ready(cursors_.size());
    for (std::size_t device = 0; device < ready.size(); ++device) ready[device] = ready.size() - 1 - device;
    while (!ready.empty()) {
      const std::size_t device = ready.back();
      ready.pop_back();
      run(device);
      auto& waiting = waiting_on_[device];
      const auto still = [&](const Waiting& other) {
        return other.extra ? !extras_.find(other.needed)->done : !done(other.needed, other.device != device);
      };
      const auto woken = std::partition(waiting.begin(), waiting.end(), still);
      for (auto at = woken; at != waiting.end(); ++at) ready.push_back(at->device);
      waiting.erase(woken, waiting.end());
    }
  }

  /// One cycle of devices that wait for each other, or nothing when all have finished.
  void report(Findings& findings) {
    std::size_t device = 0;
    while (device < cursors_.size() && cursors_[device].at_end()) ++device;
    if (device == cursors_.size()) return;
    for (std::size_t i = 0; i < cursors_.size(); ++i) device = blocker(device)->device;  // into the cycle
    const std::size_t first = device;
    std::string cycle = "deadlock: " + name(head(first), first);
    do {
      const Blocker on = *blocker(device);
      cycle += " waits for " + name(on.needed, on.device);
      device = on.device;
      if (!same_work(on.needed, head(device))) cycle += ", which comes after " + to_string(head(device));
      cycle += device == first ? "" : ", which";
    } while (device != first);
    findings.add(first, cursors_[first].position(), to_string(head(first)), cycle);
  }

 private:
  /// A device that waits for what another one does.
  struct Waiting {
    Action needed;
    std::size_t device = 0;
    bool extra = false;
  };

  /// The action that the device is stuck on (of a pair, the first half).
  Action head(std::size_t device) const { return cursors_[device].action(); }

  static std::string name(const Action& action, std::size_t device) {
    return to_string(action) + " on device " + std::to_string(device);
  }

  /// Whether doing `head` does what is needed (a backward is asked for as B).
  static bool same_work(const Action& needed, const Action& head) {
    const bool same_op = needed.op == head.op || (needed.op == Op::kB && head.op == Op::kI);
    const bool same_slice = needed.slice == head.slice || needed.slice < 0 || head.slice < 0;
    return same_op && same_slice && needed.stage == head.stage && needed.replica == head.replica &&
           needed.microbatch == head.microbatch;
  }

  void run(std::size_t device) {
    ListCursor& at = cursors_[device];
    while (!at.at_end()) {
      if (const auto on = blocker(device)) {
        waiting_on_[on->device].push_back({on->needed, device, on->extra});
        return;
      }
      bool pair = true;
      while (pair) {
        pair = at.action().overlaps_next;
        finish(at.action());
        at.step();
      }
    }
  }

  void finish(const Action& action) {
    const OpSet bit = op_bit(action.op);
    if (bit == 0 && extras_.empty()) return;
    for_each_microbatch(action, [&](const Action& one) {
      if (bit != 0 && number(one) >= 0) done_.add(one, bit);
      if (auto* extra = extras_.empty() ? nullptr : extras_.find(one)) extra->done = true;
    });
  }

  /// What the device's next action or pair still waits for.
  std::optional<Blocker> blocker(std::size_t device) {
    const ListCursor& at = cursors_[device];
    auto found = blocker_of(at.action(), device);
    if (found || !at.action().overlaps_next) return found;
    ListCursor second = at;
    second.step();
    return blocker_of(second.action(), device);
  }

  std::optional<Blocker> blocker_of(const Action& action, std::size_t device) {
    std::optional<Blocker> found;
    rules_.for_each(action, [&](const Action& needed, DependencyKind) {
      if (found) return;
      const std::size_t maker = index(device_of(schedule_, needed.replica, needed.stage, number(needed)));
      if (!done(needed, maker != device)) found = Blocker{needed, maker, false};
    });
    return found ? found : extra_blocker(action);
  }

  /// Whether the value is there; one that the document sends to another device is there when its send has been issued.
  bool done(const Action& needed, bool elsewhere) const {
    const bool sliced = needed.slice != Action::kAllSlices;
    if (sliced && static_cast<std::size_t>(needed.slice) >= seen_.slices(index(needed.microbatch))) return true;
    const OpSet planned = seen_.some(needed);
    const OpSet by_now = done_.all(needed);
    const auto has = [](OpSet ops, Op op) { return (ops & op_bit(op)) != 0; };
    switch (needed.op) {
      case Op::kF:
        return has(by_now, elsewhere && has(planned, Op::kSendF) ? Op::kSendF : Op::kF);
      case Op::kB:
        if (elsewhere && has(planned, Op::kSendB)) return has(by_now, Op::kSendB);
        return (by_now & kAnyBackward) != 0;
      case Op::kR:
        return has(by_now, Op::kR) || !has(planned, Op::kR);
      default:
        return has(by_now, needed.op);
    }
  }

  std::optional<Blocker> extra_blocker(const Action& action) {
    const auto* after = extras_.empty() ? nullptr : extras_.find(action);
    if (after == nullptr) return std::nullopt;
    for (const Action& needed : after->needs) {
      const auto* before = extras_.find(needed);
      if (!before->done) return Blocker{needed, *before->device, true};
    }
    return std::nullopt;
  }

  static std::int64_t number(const Action& action) { return static_cast<std::int32_t>(action.microbatch); }

  const Schedule& schedule_;
  const ActionTable& seen_;
  DependencyRules rules_;
  ExtraEnds extras_;
  ActionTable done_;
  std::vector<ListCursor> cursors_;
  std::vector<std::vector<Waiting>> waiting_on_;  ///< by device: who waits for something it does
};

}  // namespace

void check_deadlock(const Schedule& schedule, const ListContents& contents, Findings& findings) {
  Run run(schedule, contents);
  run.locate_extras(findings);
  if (!findings.empty()) return;
  run.run();
  run.report(findings);
}

}  // namespace plumb
