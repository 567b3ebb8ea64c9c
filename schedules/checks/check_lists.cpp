#include "schedules/checks/list_contents.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/rules/dependency_rules.hpp"

namespace plumb {
namespace {

/// How far a stage that the device holds has come.
struct Progress {
  Share share;
  bool has_updates = false;       ///< the list names U of the stage
  bool has_reductions = false;    ///< the list names REDUCE_GRAD of the stage
  std::int64_t updates = 0;       ///< U so far
  std::int64_t reductions = 0;    ///< REDUCE_GRAD so far
  std::int64_t validations = 0;   ///< V so far
  bool unread = false;            ///< nothing has read the weights that the last U made
  std::set<std::int32_t> extras;  ///< X so far
  std::vector<bool> trains_in;    ///< by update: a backward has been seen; only where REDUCE_GRAD is to be added
};

class ListChecker {
 public:
  ListChecker(const Schedule& schedule, DeviceId device, ListContents& contents, Findings& findings)
      : schedule_(schedule),
        device_(device),
        contents_(contents),
        findings_(findings),
        causal_(schedule.slices && schedule.slices->axis == Slices::Axis::kSequence) {
    collect_held_stages();
  }

  void check() {
    walk(schedule_.devices[index(device_)], [&](const Action& action) {
      check_pair(action);
      if (Progress* held = held_stage(action)) check(action, *held);
      ++position_;
    });
    if (in_pair_) fail(previous_, "is the first half of an overlapped pair without a second; expected one after it");
    for (std::size_t i = 0; i < held_.size(); ++i) {
      check_end(held_[i]);
      contents_.shares[index(device_)][i].exchanges = held_[i].share.exchanges;
    }
  }

 private:
  void collect_held_stages() {
    for (const Share& share : contents_.shares[index(device_)]) {
      held_.emplace_back();
      held_.back().share = share;
    }
    for (const Action& action : schedule_.devices[index(device_)].actions) {
      Progress* held = find_held(action);
      if (held == nullptr) continue;
      held->has_updates |= action.op == Op::kU;
      held->has_reductions |= action.op == Op::kReduceGrad;
    }
    for (Progress& held : held_) {
      if (schedule_.forward_only || held.has_reductions || !reduces_with_others(held.share.stage)) continue;
      held.trains_in.resize(static_cast<std::size_t>(updates_of(held.share.stage)), false);
    }
  }

  std::int64_t updates_of(StageId stage) const { return schedule_.num_microbatches / schedule_.per_update(stage); }

  /// Whether the device reduces the gradients of the stage with another holder of it (or with another one of its own).
  bool reduces_with_others(StageId stage) const {
    const auto holders_among = [&](const std::vector<DeviceId>* group) {
      std::ptrdiff_t count = 0;
      for (const auto& replica : schedule_.placement) {
        count += std::ranges::count_if(replica[index(stage)], [&](DeviceId device) {
          return group == nullptr || std::ranges::find(*group, device) != group->end();
        });
      }
      return count;
    };
    if (schedule_.reduce_groups.empty()) return holders_among(nullptr) > 1;
    return std::ranges::any_of(schedule_.reduce_groups, [&](const std::vector<DeviceId>& group) {
      return std::ranges::find(group, device_) != group.end() && holders_among(&group) > 1;
    });
  }

  Progress* find_held(const Action& action) {
    const auto before = [](const Progress& held, const Action& a) {
      return held.share.replica != a.replica ? held.share.replica < a.replica : held.share.stage < a.stage;
    };
    const auto found = std::lower_bound(held_.begin(), held_.end(), action, before);
    const bool same =
        found != held_.end() && found->share.replica == action.replica && found->share.stage == action.stage;
    return same ? &*found : nullptr;
  }

  void fail(const Action& action, std::string reason) {
    findings_.add(index(device_), position_, to_string(action), std::move(reason));
  }

  /// Overlapped pairs are two passes, or extra work, next to each other, and neither waits for the other.
  void check_pair(const Action& action) {
    constexpr auto kExpected = "; expected F, B, I, W, R or X";
    if (in_pair_ && !can_overlap(action.op)) {
      fail(action, std::string("is the second half of an overlapped pair") + kExpected);
    } else if (in_pair_ && action.overlaps_next) {
      fail(action, "is the second half of an overlapped pair and the first of another; expected pairs of two actions");
    } else if (in_pair_ && (waits_for(action, previous_) || waits_for(previous_, action))) {
      fail(action,
           "is in a pair with " + to_string(previous_) + "; expected two actions that do not wait for each other");
    }
    in_pair_ = !in_pair_ && action.overlaps_next;
    if (in_pair_ && !can_overlap(action.op)) {
      fail(action, std::string("is the first half of an overlapped pair") + kExpected);
    }
    previous_ = action;
  }

  /// Whether `action` waits for `other` by rule.
  bool waits_for(const Action& action, const Action& other) {
    const auto in_range = [&](const Action& one) {
      return index(one.stage) < static_cast<std::size_t>(schedule_.num_stages);
    };
    if (!in_range(action) || !in_range(other)) return false;
    if (!rules_) rules_.emplace(schedule_);
    bool found = false;
    rules_->for_each(action, [&](const Action& needed, DependencyKind) { found = found || gives(other, needed); });
    return found;
  }

  /// Whether `action` does what is `needed`, which names one microbatch; B stands for B or I.
  static bool gives(const Action& action, const Action& needed) {
    const bool same_op = needed.op == action.op || (needed.op == Op::kB && action.op == Op::kI);
    const bool same_slice =
        needed.slice == action.slice || needed.slice == Action::kAllSlices || action.slice == Action::kAllSlices;
    const std::int64_t behind_first = number(needed) - number(action);
    return same_op && same_slice && needed.stage == action.stage && needed.replica == action.replica &&
           behind_first >= 0 && behind_first <= action.merged;
  }

  /// The stage of the action when the device holds it and the numbers are in range.
  Progress* held_stage(const Action& action) {
    if (index(action.replica) >= schedule_.placement.size()) {
      fail(action, "replica out of range; expected 0 .. " + std::to_string(schedule_.placement.size() - 1));
      return nullptr;
    }
    if (index(action.stage) >= static_cast<std::size_t>(schedule_.num_stages)) {
      fail(action, "stage out of range; expected 0 .. " + std::to_string(schedule_.num_stages - 1));
      return nullptr;
    }
    Progress* held = find_held(action);
    if (held == nullptr) {
      fail(action, "device " + std::to_string(index(device_)) + " does not hold the stage; expected on device " +
                       std::to_string(index(schedule_.placement[index(action.replica)][index(action.stage)].front())));
      return nullptr;
    }
    return held;
  }

  void check(const Action& action, Progress& held) {
    switch (action.op) {
      case Op::kU:
      case Op::kV:
        return check_update(action, held);
      case Op::kX:
        return check_extra(action, held);
      case Op::kReduceGrad:
        return check_reduction(action, held);
      case Op::kSyncWeights:
        return check_exchange(action, held);
      case Op::kUnshard:
        if (action.where != Action::kNowhere) fail(action, "names a device; expected none outside a timeline");
        return;
      case Op::kReshard:
        return;
      default:
        break;
    }
    if (action.op == Op::kF || action.op == Op::kR || is_backward(action.op)) held.unread = false;
    const std::int64_t first = static_cast<std::int32_t>(action.microbatch);
    if (first < 0) return;  // a move of the stage's weights
    if (first + action.merged >= schedule_.num_microbatches) {
      return fail(action, "microbatch out of range; expected 0 .. " + std::to_string(schedule_.num_microbatches - 1));
    }
    Action one = action;
    one.merged = 0;
    for (std::int64_t i = 0; i <= action.merged; ++i) {
      one.microbatch = MicrobatchId{static_cast<std::int32_t>(first + i)};
      check_microbatch(action, one, held);
    }
  }

  /// `one` is `action` for one of its microbatches.
  void check_microbatch(const Action& action, const Action& one, Progress& held) {
    const std::int64_t microbatch = static_cast<std::int32_t>(one.microbatch);
    const std::size_t slices = contents_.seen.slices(index(one.microbatch));
    if (one.slice != Action::kAllSlices && static_cast<std::size_t>(one.slice) >= slices) {
      return fail(action, "slice out of range; expected 0 .. " + std::to_string(slices - 1));
    }
    if (static_cast<std::size_t>(microbatch) % held.share.of != held.share.number) {
      return fail(action, "microbatch " + std::to_string(microbatch) + " of the stage belongs to device " +
                              std::to_string(index(device_of(schedule_, one.replica, one.stage, microbatch))) +
                              " (round robin)");
    }
    std::int16_t& replica = contents_.replica_of[index(one.microbatch)];
    if (replica < 0) replica = static_cast<std::int16_t>(one.replica);
    if (replica != static_cast<std::int16_t>(one.replica)) {
      return fail(action, "microbatch " + std::to_string(microbatch) + " already belongs to replica " +
                              std::to_string(replica) + "; expected one replica");
    }
    const OpSet bit = op_bit(one.op);
    if ((contents_.seen.some(one) & bit) != 0 && !(is_send(one.op) && one.where != Action::kNowhere)) {
      return fail(action, "runs a second time; expected once");
    }
    check_order(action, one);
    contents_.seen.add(one, bit);
    check_update_order(action, one, held);
  }

  /// What must stand before `one` on its device, and what must not.
  void check_order(const Action& action, const Action& one) {
    const OpSet before = contents_.seen.all(one);
    const OpSet any = contents_.seen.some(one);
    const auto needs = [&](Op op) {
      if ((before & op_bit(op)) == 0) fail(action, "runs before " + text_of(one.stage, op, number(one), one.replica));
    };
    const auto behind = [&](Op op) {
      if ((any & op_bit(op)) != 0) {
        fail(action, "runs after " + text_of(one.stage, op, number(one), one.replica) + "; expected before it");
      }
    };
    switch (one.op) {
      case Op::kF:
        if (causal_ && one.slice > 0) needs_slice(action, one, one.slice - 1);
        break;
      case Op::kB:
      case Op::kI:
        needs(Op::kF);
        if (causal_ && one.slice != Action::kAllSlices) needs_slice(action, one, one.slice + 1);
        if (schedule_.forward_only) fail(action, "the mode is forward; expected no backward");
        if ((any & kAnyBackward & static_cast<OpSet>(~op_bit(one.op))) != 0) {
          fail(action, "the backward of this microbatch has run already; expected B, or I and W");
        }
        if ((any & op_bit(Op::kEvict)) != 0) needs(Op::kLoad);
        break;
      case Op::kW:
        needs(Op::kI);
        break;
      case Op::kR:
        if (schedule_.forward_only) fail(action, "the mode is forward; expected no recompute");
        needs(Op::kF);
        break;
      case Op::kSendF:
        needs(Op::kF);
        break;
      case Op::kEvict:
      case Op::kLoad:
        needs(one.op == Op::kEvict ? Op::kF : Op::kEvict);
        if (causal_ && one.slice != Action::kAllSlices)
          fail(action, "other slices read its keys; expected all of them");
        break;
      case Op::kSendB:
        if ((before & kAnyBackward) == 0)
          fail(action, "runs before " + text_of(one.stage, Op::kB, number(one), one.replica));
        break;
      case Op::kRecvF:
        behind(Op::kF);
        break;
      case Op::kRecvB:
        behind(Op::kB);
        behind(Op::kI);
        break;
      default:
        break;
    }
    if (one.op == Op::kR) {
      behind(Op::kB);
      behind(Op::kI);
    }
  }

  /// Slices of a sequence: the same work of the slice `before` comes first.
  void needs_slice(const Action& action, Action one, std::int32_t before) {
    if (static_cast<std::size_t>(before) >= contents_.seen.slices(index(one.microbatch))) return;
    one.slice = static_cast<std::int16_t>(before);
    const OpSet wanted = one.op == Op::kF ? op_bit(Op::kF) : kAnyBackward;
    if ((contents_.seen.all(one) & wanted) == 0) fail(action, "runs before " + to_string(one));
  }

  static std::int64_t number(const Action& action) { return static_cast<std::int32_t>(action.microbatch); }

  /// Backwards stand before the reduction and the update that apply them; with `flush`, forwards after the update
  /// before theirs.
  void check_update_order(const Action& action, const Action& one, Progress& held) {
    const std::int64_t update = number(one) / schedule_.per_update(one.stage);
    const auto text = [&](Op op, std::int64_t of) { return text_of(one.stage, op, of, one.replica); };
    if ((one.op == Op::kB || one.op == Op::kW) && static_cast<std::size_t>(update) < held.trains_in.size()) {
      held.trains_in[static_cast<std::size_t>(update)] = true;
    }
    if (one.op == Op::kB || one.op == Op::kI || one.op == Op::kW) {
      if (held.updates > update) {
        fail(action, "runs after " + text(Op::kU, update) + ", which applies its gradient");
      } else if (held.reductions > update) {
        fail(action, "runs after the " + text(Op::kReduceGrad, -1) + " that reduces its gradient");
      }
    }
    if (one.op == Op::kF && held.has_updates && held.updates < update &&
        schedule_.policy_of(one.stage, update) == WeightPolicy::kFlush) {
      fail(action, "runs before " + text(Op::kU, update - 1) + "; expected after it, the weight policy is flush");
    }
  }

  void check_update(const Action& action, Progress& held) {
    const std::int64_t all = schedule_.num_microbatches / schedule_.per_update(action.stage);
    if (number(action) >= all) {
      return fail(action, "update out of range; expected 0 .. " + std::to_string(all - 1));
    }
    held.unread |= action.op == Op::kU;
    std::int64_t& done = action.op == Op::kU ? held.updates : held.validations;
    if (number(action) != done) {
      return fail(action, "runs out of turn; expected " + text_of(action.stage, action.op, done, action.replica));
    }
    if (action.op == Op::kV && held.updates <= number(action)) {
      fail(action, "runs before " + text_of(action.stage, Op::kU, number(action), action.replica));
    }
    if (action.op == Op::kU && held.has_reductions && held.reductions <= number(action)) {
      fail(action,
           "runs before the " + text_of(action.stage, Op::kReduceGrad, -1, action.replica) + " of its gradient");
    }
    ++done;
  }

  void check_reduction(const Action& action, Progress& held) {
    const std::int64_t all = schedule_.num_microbatches / schedule_.per_update(action.stage);
    if (held.reductions >= all)
      return fail(action, "expected once for each of the " + std::to_string(all) + " updates");
    ++held.reductions;
  }

  /// An exchange changes what the update before it made, in place.
  void check_exchange(const Action& action, Progress& held) {
    if (!held.unread) fail(action, "expected after an update, before anything reads the new weights");
    ++held.share.exchanges;
  }

  void check_extra(const Action& action, Progress& held) {
    const std::string name = "X" + std::to_string(number(action));
    if (!schedule_.extras.contains(name))
      fail(action, "extra work is not declared; expected '" + name + "' under extras");
    if (!held.extras.insert(static_cast<std::int32_t>(action.microbatch)).second) {
      fail(action, "runs a second time; expected once");
    }
  }

  /// Missing updates and reductions, at the end of the list.
  void check_end(const Progress& held) {
    const std::int64_t all = schedule_.num_microbatches / schedule_.per_update(held.share.stage);
    const auto missing = [&](Op op, std::int64_t done) {
      findings_.add(index(device_), position_,
                    text_of(held.share.stage, op, op == Op::kU ? done : -1, held.share.replica),
                    "is missing; expected " + std::to_string(all) + " on the device, found " + std::to_string(done));
    };
    if (held.has_updates && held.updates < all) missing(Op::kU, held.updates);
    if (held.has_reductions && held.reductions < all) missing(Op::kReduceGrad, held.reductions);
    const auto idle = std::ranges::find(held.trains_in, false);
    if (idle == held.trains_in.end()) return;
    findings_.add(index(device_), position_, text_of(held.share.stage, Op::kReduceGrad, -1, held.share.replica),
                  "is missing; update " + std::to_string(idle - held.trains_in.begin()) +
                      " has no backward on the device, after which it could be added");
  }

  const Schedule& schedule_;
  DeviceId device_;
  ListContents& contents_;
  Findings& findings_;
  bool causal_ = false;         ///< slices of a sequence: later ones read the keys of earlier ones
  std::vector<Progress> held_;  ///< by replica, then stage
  std::int64_t position_ = 0;
  std::optional<DependencyRules> rules_;  ///< made for the first pair
  bool in_pair_ = false;                  ///< the previous action was the first half of a pair
  Action previous_;
};

}  // namespace

void check_list(const Schedule& schedule, DeviceId device, ListContents& contents, Findings& findings) {
  ListChecker(schedule, device, contents, findings).check();
}

}  // namespace plumb
