#include "schedules/versions/synchronous_phase.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb {
namespace {

/// Sorts the actions of one device into those of the phase and those after it.
class Sorter {
 public:
  Sorter(const Schedule& schedule, std::int64_t updates) : schedule_(schedule), updates_(updates) {
    phase_.resize(static_cast<std::size_t>(updates));
  }

  DeviceList sorted(const DeviceList& list) {
    std::vector<Action> rest;
    std::vector<Action> actions = expand(list);
    part_pairs(actions);
    for (const Action& action : actions) {
      const std::int64_t update = update_of(action);
      (update < updates_ ? phase_[static_cast<std::size_t>(update)] : rest).push_back(action);
    }
    DeviceList result;
    for (std::vector<Action>& update : phase_) {
      std::ranges::stable_sort(update, {}, order);
      result.actions.insert(result.actions.end(), update.begin(), update.end());
    }
    result.actions.insert(result.actions.end(), rest.begin(), rest.end());
    return result;
  }

 private:
  /// Forwards by stage; then backwards, last stage first, each microbatch at once; then reductions; then updates.
  static std::tuple<int, std::int32_t, MicrobatchId, int, Op> order(const Action& action) {
    const auto stage = static_cast<std::int32_t>(action.stage);
    const int kind = action.op == Op::kF ? 0 : action.op == Op::kReduceGrad ? 2 : action.op == Op::kU ? 3 : 1;
    const Op step = action.op == Op::kR ? Op::kF : action.op;  // R comes before I and B
    if (kind == 1) return {kind, -stage, action.microbatch, -action.slice, step};
    return {kind, stage, action.microbatch, action.slice, action.op};
  }

  /// Both members of an overlapped pair are run one by one when one of them is in the phase.
  void part_pairs(std::vector<Action>& actions) {
    reductions_.clear();
    for (std::size_t i = 0; i + 1 < actions.size(); ++i) {
      if (!actions[i].overlaps_next) continue;
      if (std::min(update_of(actions[i]), update_of(actions[i + 1])) < updates_) actions[i].overlaps_next = 0;
    }
    reductions_.clear();
  }

  std::int64_t update_of(const Action& action) {
    const auto number = static_cast<std::int64_t>(action.microbatch);
    if (action.op == Op::kU) return number;
    if (action.op == Op::kReduceGrad) return reductions_[{action.replica, action.stage}]++;
    if (action.op > Op::kR) refuse(action);
    const std::int64_t per_update = schedule_.per_update(action.stage);
    const std::int64_t update = number / per_update;
    if ((number + action.merged) / per_update != update) refuse(action);
    return update;
  }

  [[noreturn]] void refuse(const Action& action) const {
    throw Error("schedule '" + schedule_.name + "': " + to_string(action) +
                " belongs to no single update; expected none in a schedule that gets a synchronous phase");
  }

  const Schedule& schedule_;
  std::int64_t updates_;
  std::vector<std::vector<Action>> phase_;  ///< by update
  std::map<std::pair<ReplicaId, StageId>, std::int64_t> reductions_;
};

}  // namespace

Schedule with_synchronous_phase(Schedule schedule, std::int64_t updates) {
  const std::string where = "schedule '" + schedule.name + "': ";
  if (schedule.devices.empty()) throw Error(where + "has no lists; a synchronous phase needs them");
  if (!schedule.weights.phases.empty()) throw Error(where + "has phases already; expected none before t3");
  const std::int64_t most = schedule.num_microbatches / schedule.per_update(StageId{0});
  updates = std::min(updates, most);
  for (DeviceList& list : schedule.devices) list = Sorter(schedule, updates).sorted(list);
  schedule.weights.phases = {{updates, WeightPolicy::kFlush}};
  return schedule;
}

}  // namespace plumb
