#include "sim/plan_search/offload.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/action_units.hpp"

namespace plumb {
namespace {

constexpr std::size_t kPassesBetween = 3;

void check_offload(const Schedule& schedule, const std::vector<std::int32_t>& percent) {
  if (percent.size() != static_cast<std::size_t>(schedule.num_stages)) {
    throw Error("offload: " + std::to_string(percent.size()) + " shares, expected one for each of the " +
                std::to_string(schedule.num_stages) + " stages");
  }
  for (const std::int32_t share : percent) {
    if (share < 0 || share > 100) throw Error("offload: expected 0 to 100 percent, found " + std::to_string(share));
  }
  if (schedule.forward_only || schedule.slices || !schedule.recompute.empty()) {
    throw Error("offload: expected a schedule that trains with whole microbatches and recomputes no stages");
  }
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) {
      if (!is_move(action.op) && action.op != Op::kR && action.merged == 0) continue;
      throw Error("offload: expected a schedule that moves, recomputes and merges nothing itself");
    }
  }
}

/// Returns whether microbatch k is one of those that leave, of which there are `percent` in 100.
bool leaves_device(std::int64_t k, std::int64_t percent) { return (k + 1) * percent / 100 > k * percent / 100; }

Action move_to_host(const Action& pass, Op op) {
  Action move = action_of(static_cast<std::int32_t>(pass.stage), op, static_cast<std::int64_t>(index(pass.microbatch)));
  move.replica = pass.replica;
  move.where = Action::kHost;
  return move;
}

/// Returns one device's list with its copies.
std::vector<Action> list_with_copies(const std::vector<Action>& actions, const std::vector<std::int32_t>& percent) {
  std::vector<std::vector<Action>> before(actions.size() + 1);  // moves in front of an action
  std::vector<std::size_t> passes;                              // places of what computes, first halves of pairs
  std::map<std::tuple<ReplicaId, StageId, MicrobatchId>, std::pair<std::size_t, std::size_t>> made;  // place, number
  for (std::size_t at = 0; at < actions.size(); ++at) {
    const Action& action = actions[at];
    if (is_compute(action.op) && unit_begin(actions, at) == at) passes.push_back(at);
    const auto key = std::tuple(action.replica, action.stage, action.microbatch);
    if (action.op == Op::kF) made[key] = {at, passes.size()};
    if (!is_backward(action.op)) continue;
    const auto forward = made.find(key);
    if (forward == made.end()) continue;
    const auto [place, number] = forward->second;
    const std::size_t between = passes.size() - 1 - number;
    const std::int64_t share = percent[index(action.stage)];
    if (between < kPassesBetween || !leaves_device(static_cast<std::int64_t>(index(action.microbatch)), share))
      continue;
    std::vector<Action>& behind = before[unit_end(actions, place)];
    behind.insert(behind.begin(), move_to_host(actions[place], Op::kEvict));
    before[passes[passes.size() - 2]].push_back(move_to_host(action, Op::kLoad));
  }
  std::vector<Action> list;
  for (std::size_t at = 0; at < actions.size(); ++at) {
    list.insert(list.end(), before[at].begin(), before[at].end());
    list.push_back(actions[at]);
  }
  return list;
}

}  // namespace

Schedule with_offload(Schedule schedule, const std::vector<std::int32_t>& percent) {
  check_offload(schedule, percent);
  for (DeviceList& list : schedule.devices) {
    list = DeviceList{.actions = list_with_copies(expand(list), percent), .repeats = {}};
  }
  return schedule;
}

}  // namespace plumb
