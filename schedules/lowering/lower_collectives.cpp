#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "models/costs/ring_all_reduce.hpp"
#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "schedules/lowering/lower_state.hpp"

namespace plumb::lowering {
namespace {

/// Holders of `stage`, by replica, then placement.
std::vector<std::uint32_t> holders_of(const State& state, StageId stage) {
  std::vector<std::uint32_t> holders;
  const auto stages = static_cast<std::size_t>(state.schedule.num_stages);
  for (std::size_t at = index(stage); at + 1 < state.first_holder.size(); at += stages) {
    for (std::uint32_t holder = state.first_holder[at]; holder < state.first_holder[at + 1]; ++holder) {
      holders.push_back(holder);
    }
  }
  return holders;
}

/// Without a cluster none.
Ticks ring_duration(const State& state, const std::vector<std::uint32_t>& holders, std::int64_t bytes) {
  if (state.cluster == nullptr) return 0;
  std::set<DeviceId> devices;
  for (const std::uint32_t holder : holders) devices.insert(state.program.holders[holder].device);
  const double ns = ring_all_reduce_ns(*state.cluster, devices, bytes);
  return checked_ticks(ns * static_cast<double>(state.costs.base.ticks_per_ns), "a collective");
}

/// Makes the collectives of one group of holders, one per update, and the waits of their updates.
void add_group(State& state, const std::vector<std::uint32_t>& group, const Collective& pattern) {
  const std::size_t updates = state.steps[group.front()].reduces.size();
  for (const std::uint32_t holder : group) {
    const HolderSteps& steps = state.steps[holder];
    if (steps.reduces.size() == updates && (steps.updates.size() == updates || steps.updates.empty())) continue;
    const Holder& of = state.program.holders[holder];
    throw CannotRun("stage " + std::to_string(index(of.stage)) + " on device " + std::to_string(index(of.device)) +
                    " reduces " + std::to_string(steps.reduces.size()) + " times and updates " +
                    std::to_string(steps.updates.size()) + " times; expected " + std::to_string(updates) +
                    " times each, as its other holders");
  }
  for (std::size_t update = 0; update < updates; ++update) {
    const auto number = static_cast<std::uint32_t>(state.program.collectives.size());
    Collective collective = pattern;
    for (const std::uint32_t holder : group) {
      const HolderSteps& steps = state.steps[holder];
      collective.members.push_back(steps.reduces[update]);
      if (steps.updates.empty()) continue;
      state.collective_waits.emplace_back(steps.updates[update],
                                          Wait{steps.reduces[update], Wait::kCollectiveBit | number});
    }
    state.program.collectives.push_back(std::move(collective));
  }
}

std::int64_t tied_bytes(const State& state, StageId stage) {
  std::int64_t bytes = 0;
  for (const TiedWeight& tied : state.costs.tied) {
    if (tied.first != tied.second && (tied.first == stage || tied.second == stage)) bytes += tied.bytes;
  }
  return bytes;
}

void check_tied(const State& state, const TiedWeight& tied) {
  const bool synchronous = state.schedule.is_synchronous(tied.first) && state.schedule.is_synchronous(tied.second);
  const bool apart = state.schedule.placement.size() > 1 && reduce_groups(state, tied.first).empty();
  if (synchronous && !apart) return;
  throw Error("schedule '" + state.schedule.name + "': stages " + std::to_string(index(tied.first)) + " and " +
              std::to_string(index(tied.second)) + " share a weight; expected a synchronous schedule" +
              (apart ? " whose copies of the model are reduced together" : "") + ", or both ends in one stage");
}

}  // namespace

std::vector<std::vector<std::uint32_t>> reduce_groups(const State& state, StageId stage) {
  const std::vector<std::uint32_t> holders = holders_of(state, stage);
  std::vector<std::vector<std::uint32_t>> groups;
  if (state.schedule.reduce_groups.empty()) {
    groups.push_back(holders);
  } else {
    for (const std::vector<DeviceId>& devices : state.schedule.reduce_groups) {
      std::vector<std::uint32_t> group;
      for (const std::uint32_t holder : holders) {
        const DeviceId device = state.program.holders[holder].device;
        if (std::find(devices.begin(), devices.end(), device) != devices.end()) group.push_back(holder);
      }
      groups.push_back(std::move(group));
    }
  }
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  return groups;
}

namespace {

/// SYNC_WEIGHTS of all holders of a stage: the mean of their weights. A holder goes on when the one `sync_distance`
/// before it is complete.
void add_syncs(State& state, StageId stage) {
  const std::vector<std::uint32_t> group = holders_of(state, stage);
  const std::size_t count = state.steps[group.front()].syncs.size();
  for (const std::uint32_t holder : group) {
    if (state.steps[holder].syncs.size() == count) continue;
    throw CannotRun("stage " + std::to_string(index(stage)) + " on device " +
                    std::to_string(index(state.program.holders[holder].device)) + " synchronizes " +
                    std::to_string(state.steps[holder].syncs.size()) + " times; expected " + std::to_string(count) +
                    " times, as its other holders");
  }
  const auto first = static_cast<std::uint32_t>(state.program.collectives.size());
  const auto distance = static_cast<std::size_t>(state.schedule.weights.sync_distance);
  Collective collective;
  collective.kind = Collective::Kind::kSyncWeights;
  if (!state.costs.memory.empty()) collective.bytes = state.costs.memory[index(stage)].updated_bytes();
  const Ticks given = state.costs.times[index(stage)].all_reduce;
  collective.duration = given != 0 ? given : ring_duration(state, group, collective.bytes);
  for (std::size_t number = 0; number < count; ++number) {
    collective.members.clear();
    for (const std::uint32_t holder : group) {
      const std::vector<InstrIndex>& syncs = state.steps[holder].syncs;
      collective.members.push_back(syncs[number]);
      if (number < distance) continue;
      const auto awaited = static_cast<std::uint32_t>(number - distance);
      state.collective_waits.emplace_back(syncs[number] + 1,
                                          Wait{syncs[awaited], Wait::kCollectiveBit | (first + awaited)});
    }
    state.program.collectives.push_back(collective);
  }
}

}  // namespace

void add_collectives(State& state) {
  if (state.schedule.forward_only) return;
  std::set<StageId> carried;  // extra edges bring their gradients
  for (const ExtraEdge& edge : state.schedule.extra_edges) carried.insert(edge.gradients.begin(), edge.gradients.end());
  for (std::int32_t stage = 0; stage < state.schedule.num_stages; ++stage) {
    Collective pattern;
    const std::size_t at = static_cast<std::size_t>(stage);
    if (!state.costs.memory.empty()) {
      pattern.bytes = state.costs.memory[at].gradient_bytes - tied_bytes(state, StageId{stage});
    }
    for (const auto& group : reduce_groups(state, StageId{stage})) {
      const Ticks given = state.costs.times[at].all_reduce;
      pattern.duration = given != 0 ? given : ring_duration(state, group, pattern.bytes);
      if (carried.contains(StageId{stage})) pattern.duration = 0;
      add_group(state, group, pattern);
    }
    add_syncs(state, StageId{stage});
  }
  for (const TiedWeight& tied : state.costs.tied) {
    if (tied.first == tied.second) continue;
    check_tied(state, tied);
    std::vector<std::uint32_t> group = holders_of(state, tied.first);
    const std::vector<std::uint32_t> second = holders_of(state, tied.second);
    group.insert(group.end(), second.begin(), second.end());
    Collective pattern;
    pattern.kind = Collective::Kind::kReduceTied;
    pattern.bytes = tied.bytes;
    pattern.duration = ring_duration(state, group, tied.bytes);
    add_group(state, group, pattern);
  }
  std::stable_sort(state.collective_waits.begin(), state.collective_waits.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

}  // namespace plumb::lowering
