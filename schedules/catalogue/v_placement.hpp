#pragma once

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Stages go down the devices and come back: chunk k of device d is stage k * p + d for even k, (k + 1) * p - 1 - d for
/// odd k. With two chunks the first and the last stage are on device 0.
inline StageId v_stage(std::int32_t num_devices, std::int32_t chunk, std::int32_t device) {
  return StageId{chunk * num_devices + (chunk % 2 == 0 ? device : num_devices - 1 - device)};
}

/// Places all stages of `schedule` (one replica) in this way.
inline void place_in_v(Schedule& schedule) {
  const std::int32_t p = schedule.num_devices;
  for (std::int32_t chunk = 0; chunk < schedule.num_stages / p; ++chunk) {
    for (std::int32_t device = 0; device < p; ++device) {
      schedule.placement[0][index(v_stage(p, chunk, device))] = {DeviceId{device}};
    }
  }
}

}  // namespace plumb
