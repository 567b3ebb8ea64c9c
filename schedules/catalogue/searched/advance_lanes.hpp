#pragma once

#include <cstdint>

namespace plumb {

/// Takes all devices as far as they get: calls `step(device)`, which does a device's next pass or returns false, until
/// no device moves any more. Goes over the devices there and back, as values travel through a pipeline, so that a few
/// rounds are enough.
template <class Step>
void advance_lanes(std::int32_t num_devices, Step step) {
  const auto advance = [&](std::int32_t device) {
    bool moved = false;
    while (step(device)) moved = true;
    return moved;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int32_t d = 0; d < num_devices; ++d) moved = advance(d) || moved;
    for (std::int32_t d = num_devices - 1; d >= 0; --d) moved = advance(d) || moved;
  }
}

}  // namespace plumb
