#include "schedules/formats/torch_lowering.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/action_units.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/rules/dependency_rules.hpp"

namespace plumb {
namespace {

using Actions = std::vector<Action>;

Action collective(const Action& like, Op op) {
  Action action;
  action.stage = like.stage;
  action.replica = like.replica;
  action.op = op;
  action.microbatch = MicrobatchId{-1};
  return action;
}

bool uses_weights(Op op) { return op <= Op::kR; }

/// Stages of a device that hold weights: by replica, then stage.
using HeldStage = std::pair<ReplicaId, StageId>;

HeldStage held(const Action& action) { return {action.replica, action.stage}; }

/// The next stages that the list computes from `at` on, at least `count` of them when there are so many.
std::vector<HeldStage> next_stages(const Actions& actions, std::size_t at, std::size_t count) {
  std::vector<HeldStage> stages;
  while (at < actions.size() && stages.size() < count) {
    for (const std::size_t end = unit_end(actions, at); at < end; ++at) {
      if (!uses_weights(actions[at].op)) continue;
      if (std::ranges::find(stages, held(actions[at])) == stages.end()) stages.push_back(held(actions[at]));
    }
  }
  return stages;
}

Actions with_gathers(const Actions& actions, std::int32_t active_stages) {
  Actions result;
  std::set<HeldStage> active;
  const auto add = [&](const HeldStage& stage, Op op) {
    Action like;
    std::tie(like.replica, like.stage) = stage;
    result.push_back(collective(like, op));
  };
  for (std::size_t at = 0; at < actions.size();) {
    if (uses_weights(actions[at].op)) {
      const auto wanted = next_stages(actions, at, static_cast<std::size_t>(active_stages));
      const std::set<HeldStage> before = active;
      for (const HeldStage& stage : before) {
        if (std::ranges::find(wanted, stage) != wanted.end()) continue;
        active.erase(stage);
        add(stage, Op::kReshard);
      }
      for (const HeldStage& stage : wanted) {
        if (active.insert(stage).second) add(stage, Op::kUnshard);
      }
    }
    for (const std::size_t end = unit_end(actions, at); at < end; ++at) result.push_back(actions[at]);
  }
  for (const HeldStage& stage : active) add(stage, Op::kReshard);
  return result;
}

/// REDUCE_GRAD after the last B or W of every update of a stage, where the list has none of its own.
Actions with_reductions(const Schedule& schedule, const Actions& actions) {
  if (std::ranges::any_of(actions, [](const Action& action) { return action.op == Op::kReduceGrad; })) return actions;
  Actions result;
  std::map<HeldStage, std::int64_t> done;
  for (std::size_t at = 0; at < actions.size();) {
    Actions reductions;
    for (const std::size_t end = unit_end(actions, at); at < end; ++at) {
      const Action& action = actions[at];
      result.push_back(action);
      if (action.op != Op::kB && action.op != Op::kW) continue;
      const auto sharing = std::ssize(schedule.placement[index(action.replica)][index(action.stage)]);
      done[held(action)] += action.merged + 1;
      if (done[held(action)] * sharing % schedule.per_update(action.stage) == 0) {
        reductions.push_back(collective(action, Op::kReduceGrad));
      }
    }
    result.insert(result.end(), reductions.begin(), reductions.end());
  }
  return result;
}

/// The values that stages have made for each other, dense: the F of a stage and microbatch, or its B or I, whole or as
/// one slice, which are values apart.
class MadeValues {
 public:
  explicit MadeValues(const Schedule& schedule) : microbatches_(static_cast<std::size_t>(schedule.num_microbatches)) {
    if (schedule.slices) {
      for (const auto& lengths : schedule.slices->lengths) parts_ = std::max(parts_, lengths.size() + 1);
    }
    made_.resize(static_cast<std::size_t>(schedule.num_stages) * microbatches_ * parts_ * 2);
  }

  void add(const Action& made) { made_[place(made)] = true; }
  bool contains(const Action& made) const { return made_[place(made)]; }

 private:
  std::size_t place(const Action& made) const {
    const std::size_t part = made.slice == Action::kAllSlices ? 0 : static_cast<std::size_t>(made.slice) + 1;
    const std::size_t cell = (index(made.stage) * microbatches_ + index(made.microbatch)) * parts_ + part;
    return cell * 2 + (made.op == Op::kF ? 1 : 0);
  }

  std::size_t microbatches_;
  std::size_t parts_ = 2;  ///< the whole, then slices, of which a microbatch that is not cut has one
  std::vector<bool> made_;
};

/// Visits the devices in turn and writes sends and receives. A value is wherever it is taken as soon as it is made.
class DeviceRounds {
 public:
  explicit DeviceRounds(const Schedule& schedule, std::vector<Actions> lists)
      : schedule_(schedule),
        rules_(schedule),
        lists_(std::move(lists)),
        next_(lists_.size(), 0),
        written_(lists_.size()),
        made_(schedule) {}

  std::vector<Actions> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t device = 0; device < lists_.size(); ++device) progress = visit(device) || progress;
    }
    for (std::size_t device = 0; device < lists_.size(); ++device) {
      if (next_[device] == lists_[device].size()) continue;
      throw Error("schedule '" + schedule_.name + "': no receive can be placed for " +
                  to_string(lists_[device][next_[device]]) + " on device " + std::to_string(device) +
                  "; expected its inputs in the same slices");
    }
    return std::move(written_);
  }

 private:
  bool visit(std::size_t device) {
    const Actions& list = lists_[device];
    if (next_[device] == list.size()) return false;
    const std::size_t end = unit_end(list, next_[device]);
    for (std::size_t at = next_[device]; at < end; ++at) {
      if (!ready(list[at])) return false;
    }
    for (std::size_t at = next_[device]; at < end; ++at) written_[device].push_back(list[at]);
    for (std::size_t at = next_[device]; at < end; ++at) finish(list[at], device);
    next_[device] = end;
    return true;
  }

  bool ready(const Action& action) const {
    bool all = true;
    rules_.for_each(action, [&](const Action& needed, DependencyKind kind) {
      const bool from_a_stage = kind == DependencyKind::kActivation || kind == DependencyKind::kGradient;
      if (from_a_stage) all = all && made_.contains(needed);
    });
    return all;
  }

  /// Notes what `action` makes, and sends it to the other devices that take it.
  void finish(const Action& action, std::size_t device) {
    if (action.op != Op::kF && !is_backward(action.op)) return;
    const Op taker = action.op == Op::kF ? Op::kB : Op::kF;  // the stages that take an F are those that give a B
    const auto takers = rules_.sources(taker, action.stage);
    for (int i = 0; i <= action.merged; ++i) {
      Action one = action;
      one.microbatch = MicrobatchId{static_cast<std::int32_t>(action.microbatch) + i};
      one.merged = 0;
      one.overlaps_next = 0;
      made_.add(one);
      for (const StageId stage : takers) transfer(one, stage, takers.size() > 1, device);
    }
  }

  void transfer(const Action& made, StageId to, bool several, std::size_t device) {
    const auto number = static_cast<std::int64_t>(index(made.microbatch));
    const std::size_t peer = index(device_of(schedule_, made.replica, to, number));
    if (peer == device) return;
    const bool forward = made.op == Op::kF;
    Action send = made;
    send.op = forward ? Op::kSendF : Op::kSendB;
    if (several) send.where = static_cast<std::int16_t>(peer);
    Action receive = made;
    receive.stage = to;
    receive.op = forward ? Op::kRecvF : Op::kRecvB;
    if (rules_.sources(forward ? Op::kF : Op::kB, to).size() > 1) receive.where = static_cast<std::int16_t>(device);
    written_[device].push_back(send);
    written_[peer].push_back(receive);
  }

  const Schedule& schedule_;
  DependencyRules rules_;
  std::vector<Actions> lists_;
  std::vector<std::size_t> next_;  ///< by device: position in its list
  std::vector<Actions> written_;   ///< by device
  MadeValues made_;
};

/// Moves the receives of one device down.
class LateReceives {
 public:
  LateReceives(const Schedule& schedule, std::size_t device) : schedule_(schedule), rules_(schedule), device_(device) {}

  Actions moved(const Actions& actions) {
    Actions result;
    for (std::size_t at = 0; at < actions.size();) {
      const std::size_t end = unit_end(actions, at);
      if (is_recv(actions[at].op)) {
        waiting_.push_back(actions[at]);
        at = end;
        continue;
      }
      for (std::size_t i = at; i < end; ++i) {
        issue(result, [&](const Action& receive) { return takes(actions[i], receive); });
      }
      if (is_send(actions[at].op) && peer(actions[at]) > device_) {
        issue(result, [&](const Action& receive) { return peer(receive) == peer(actions[at]); });
      }
      for (; at < end; ++at) result.push_back(actions[at]);
    }
    result.insert(result.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    return result;
  }

 private:
  /// Takes those that `chosen` names out of the waiting ones.
  template <class Chosen>
  void issue(Actions& result, Chosen chosen) {
    const auto rest = std::stable_partition(waiting_.begin(), waiting_.end(), chosen);
    result.insert(result.end(), waiting_.begin(), rest);
    waiting_.erase(waiting_.begin(), rest);
  }

  static bool takes(const Action& action, const Action& receive) {
    const bool same_way = receive.op == Op::kRecvF ? action.op == Op::kF : is_backward(action.op);
    const auto first = index(action.microbatch);
    const auto number = index(receive.microbatch);
    return same_way && action.stage == receive.stage && action.replica == receive.replica && first <= number &&
           number <= first + action.merged && (action.slice == Action::kAllSlices || action.slice == receive.slice);
  }

  /// The device at the other end.
  std::size_t peer(const Action& transfer) const {
    if (transfer.where != Action::kNowhere) return static_cast<std::size_t>(transfer.where);
    const bool next = transfer.op == Op::kSendF || transfer.op == Op::kRecvB;
    const StageId stage = rules_.sources(next ? Op::kB : Op::kF, transfer.stage).front();
    const auto number = static_cast<std::int64_t>(index(transfer.microbatch));
    return index(device_of(schedule_, transfer.replica, stage, number));
  }

  const Schedule& schedule_;
  DependencyRules rules_;
  std::size_t device_;
  Actions waiting_;
};

}  // namespace

bool is_torch_lowered(const Schedule& schedule) {
  const auto is_added = [](const Action& action) {
    return is_send(action.op) || is_recv(action.op) || action.op == Op::kUnshard;
  };
  return std::ranges::any_of(schedule.devices,
                             [&](const DeviceList& list) { return std::ranges::any_of(list.actions, is_added); });
}

Schedule torch_lowered(const Schedule& schedule, const TorchLowering& options) {
  if (is_torch_lowered(schedule)) return schedule;
  std::vector<Actions> lists;
  for (const DeviceList& list : schedule.devices) {
    Actions actions = expand(list);
    if (options.collectives) {
      actions = with_reductions(schedule, with_gathers(actions, options.active_stages));
    }
    lists.push_back(std::move(actions));
  }
  lists = DeviceRounds(schedule, std::move(lists)).run();
  Schedule lowered = schedule;
  for (std::size_t device = 0; device < lists.size(); ++device) {
    if (options.late_receives) lists[device] = LateReceives(schedule, device).moved(lists[device]);
    lowered.devices[device] = {std::move(lists[device]), {}};
  }
  return lowered;
}

}  // namespace plumb
