#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "models/sources/abstract_costs.hpp"
#include "sim/order_search/schedule_search.hpp"

namespace plumb::testing {

/// A search with costs per device, whose memory is counted in stashes of 1/p of the model.
inline ScheduleSearch small_search(std::int32_t devices, std::int64_t microbatches, double limit,
                                   const std::string& times) {
  const auto costs = [devices, times](std::int32_t stages) {
    return abstract_costs(times, "", {.num_stages = stages, .stages_together = std::max(1, stages / devices)});
  };
  ScheduleSearch search;
  search.params.num_devices = devices;
  search.params.num_microbatches = microbatches;
  search.params.costs = costs;
  search.params.memory_limit = limit;
  search.memory_limit = [=](const Schedule& schedule) { return limit * schedule.num_stages / devices; };
  search.run = [=](const Schedule& schedule) {
    OrderRun run{.costs = costs(schedule.num_stages)};
    const double share = static_cast<double>(devices) / schedule.num_stages;
    run.fits = [=](const Timeline& timeline) {
      return std::ranges::all_of(timeline.devices, [&](const DeviceSummary& device) {
        return limit == 0 || device.peak_activations * share <= limit + 1e-9;
      });
    };
    return run;
  };
  search.nodes = 2'000;
  search.simulations = 300;
  return search;
}

}  // namespace plumb::testing
