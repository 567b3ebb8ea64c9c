#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "models/costs/stage_costs.hpp"

namespace plumb {

/// The parameters of a generator. `p` devices, `m` microbatches per update, `v` chunks per device, `updates` updates.
struct ScheduleParams {
  std::int32_t num_devices = 0;
  std::int64_t num_microbatches = 0;                ///< per update
  std::int32_t chunks = 0;                          ///< per device; 0: the schedule's own default
  std::int64_t updates = 0;                         ///< 0: the schedule's own default
  std::map<std::string, std::string> options = {};  ///< values by key, such as group=4

  // What searches optimise for; schedules given by a rule ignore it.
  std::function<StageCosts(std::int32_t num_stages)> costs = {};  ///< none: F = I = W = 1, no time between devices
  double memory_limit = 0;  ///< per device, of stashes: bytes, or units of abstract costs; 0: none given
};

}  // namespace plumb
