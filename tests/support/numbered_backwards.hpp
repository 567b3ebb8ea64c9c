#pragma once

#include <algorithm>
#include <cstdint>

#include "schedules/document/schedule.hpp"

namespace plumb::testing {

/// The stage that takes the number of `stage` where `num_stages` are numbered the other way.
inline StageId turned_stage(StageId stage, std::int32_t num_stages) {
  return StageId{num_stages - 1 - static_cast<std::int32_t>(stage)};
}

/// `schedule`, a chain, with its stages numbered the other way: data comes in by the last number.
inline Schedule numbered_backwards(Schedule schedule) {
  const std::int32_t count = schedule.num_stages;
  schedule.stage_edges.emplace();
  for (std::int32_t to = 0; to + 1 < count; ++to) schedule.stage_edges->emplace_back(StageId{to + 1}, StageId{to});
  for (auto& replica : schedule.placement) std::reverse(replica.begin(), replica.end());
  std::ranges::reverse(schedule.microbatches_per_update);
  std::ranges::reverse(schedule.weights.per_stage);
  for (DeviceList& list : schedule.devices) {
    for (Action& action : list.actions) action.stage = turned_stage(action.stage, count);
  }
  return schedule;
}

}  // namespace plumb::testing
