#pragma once

#include <cstddef>

#include <doctest/doctest.h>

#include "schedules/document/schedule.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb::testing {

/// Checks that idle causes add up, and that busy and idle time fill the makespan.
inline void check_idle_causes(const Timeline& timeline) {
  for (const DeviceSummary& device : timeline.devices) {
    Ticks told = 0;
    for (const Ticks cause : device.idle_causes) {
      CHECK(cause >= 0);
      told += cause;
    }
    CHECK(told == device.idle);
    CHECK(device.busy + device.idle == timeline.makespan);
  }
}

/// Checks that, too, and that every action of the schedule has a span.
inline void check_complete(const Timeline& timeline, const Schedule& schedule) {
  std::size_t computed = 0;
  std::size_t listed = 0;
  for (const Span& span : timeline.spans) computed += span.lane == Lane::kCompute ? 1 : 0;
  for (const DeviceList& list : schedule.devices) listed += expand(list).size();
  CHECK(computed == listed);
  check_idle_causes(timeline);
  for (const DeviceSummary& device : timeline.devices) CHECK(device.first_start >= 0);
}

}  // namespace plumb::testing
