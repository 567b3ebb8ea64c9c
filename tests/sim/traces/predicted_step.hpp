#pragma once

#include <string_view>

#include "models/sources/run_profile.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "sim/simulate.hpp"

namespace plumb::testing {

/// How long a step of `schedule` under the runtime takes, by the times of a traced run.
inline double predicted_step_ns(const RunProfile& profile, Schedule schedule, std::string_view runtime_name) {
  const RuntimePreset& runtime = runtime_preset(runtime_name, schedule);
  StageCosts costs = run_profile_costs(profile, schedule.num_stages).costs;
  const Cluster cluster = run_profile_cluster(profile, schedule.num_devices);
  run_as(runtime, schedule, costs);
  SimOptions options;
  options.transfers = runtime.transfers;
  return static_cast<double>(simulate(lower(schedule, costs, &cluster, lowering_of(runtime)), options).makespan);
}

}  // namespace plumb::testing
