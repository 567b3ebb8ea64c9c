#include "schedules/catalogue/post_validation.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace plumb {
namespace {

Action validation_of(StageId stage, std::int64_t update) {
  Action action;
  action.stage = stage;
  action.op = Op::kV;
  action.microbatch = MicrobatchId{static_cast<std::int32_t>(update)};
  return action;
}

/// One device's actions with V; `stages` are those that it holds, in ascending order.
DeviceList validated(const DeviceList& list, const std::vector<StageId>& stages) {
  DeviceList with;
  std::int64_t made = 0;       // updates of all stages so far
  std::int64_t validated = 0;  // V of all stages so far
  std::size_t updates = 0;     // U of this update so far
  const auto validate = [&] {
    for (const StageId stage : stages) with.actions.push_back(validation_of(stage, validated));
    ++validated;
  };
  for (const Action& action : expand(list)) {
    const bool warm_up = action.op == Op::kF && action.stage == stages.front();
    if (validated < made && !warm_up) validate();
    with.actions.push_back(action);
    if (action.op != Op::kU || ++updates < stages.size()) continue;
    updates = 0;
    ++made;
  }
  if (validated < made) validate();
  return with;
}

/// The state of the norm goes from device to device with the updates, and back with their validation. `stages` are
/// those of every device, in ascending order.
void add_norm_edges(Schedule& schedule, const std::vector<std::vector<StageId>>& stages, std::int64_t updates) {
  const auto update_of = [](StageId stage, std::int64_t number) {
    Action action = validation_of(stage, number);
    action.op = Op::kU;
    return action;
  };
  for (std::int64_t number = 0; number < updates; ++number) {
    for (std::size_t d = 0; d + 1 < stages.size(); ++d) {
      const auto& here = stages[d];
      const auto& next = stages[d + 1];
      schedule.extra_edges.push_back({update_of(here.back(), number), update_of(next.front(), number)});
      schedule.extra_edges.push_back({validation_of(next.back(), number), validation_of(here.front(), number)});
    }
  }
}

/// The first U of every update of a device and what stands in front of it: the last gradient.
struct UpdateStart {
  Action last;
  Action first_update;
};

std::vector<UpdateStart> update_starts(const DeviceList& list) {
  std::vector<UpdateStart> starts;
  Action before{};
  for (const Action& action : expand(list)) {
    if (action.op == Op::kU && before.op != Op::kU) starts.push_back({before, action});
    before = action;
  }
  return starts;
}

/// Every update waits for the last gradients of all devices, as a reduction of the norm does.
void add_barriers(Schedule& schedule) {
  std::vector<std::vector<UpdateStart>> starts;
  for (const DeviceList& list : schedule.devices) starts.push_back(update_starts(list));
  for (std::size_t d = 0; d < starts.size(); ++d) {
    for (std::size_t other = 0; other < starts.size(); ++other) {
      for (std::size_t update = 0; d != other && update < starts[d].size(); ++update) {
        schedule.extra_edges.push_back({starts[other][update].last, starts[d][update].first_update});
      }
    }
  }
}

}  // namespace

Schedule with_validation(std::string_view name, const ScheduleParams& params, Schedule schedule) {
  const std::string kind = choice(name, params, "validation", {"none", "sync", "post"});
  if (kind == "none") return schedule;
  constexpr std::int64_t kMost = 4'194'304;
  require(schedule.num_microbatches <= kMost / schedule.num_stages, name,
          "option validation: stages (" + std::to_string(schedule.num_stages) + ") times all microbatches (" +
              std::to_string(schedule.num_microbatches) + ") must be at most " + std::to_string(kMost));
  if (kind == "sync") {
    add_barriers(schedule);
    return schedule;
  }
  std::vector<std::vector<StageId>> stages(schedule.devices.size());
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    stages[index(schedule.placement[0][static_cast<std::size_t>(stage)].front())].push_back(StageId{stage});
  }
  for (std::size_t d = 0; d < schedule.devices.size(); ++d) {
    schedule.devices[d] = validated(schedule.devices[d], stages[d]);
  }
  add_norm_edges(schedule, stages, schedule.num_microbatches / params.num_microbatches);
  return schedule;
}

}  // namespace plumb
