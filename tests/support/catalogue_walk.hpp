#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb::testing {

/// The schedule, or nothing where it refuses these parameters by its rule.
inline std::optional<Schedule> generated(const ScheduleSpec& spec, const ScheduleParams& params) {
  try {
    return generate(spec.name, params);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The schedule with the fewest chunks per device and the fewest microbatches (at least `params.num_microbatches`) that
/// it accepts; nothing where it refuses them all. An asynchronous one covers its own number of updates when the one
/// asked for does not do.
inline std::optional<Schedule> smallest(const ScheduleSpec& spec, ScheduleParams params) {
  for (const std::int32_t chunks : {1, 2, 4}) {
    params.chunks = chunks;
    const std::int64_t microbatches = params.num_microbatches;
    for (const std::int64_t more : {0, 1, 2, 3, 4, 8, 12}) {
      ScheduleParams wanted = params;
      wanted.num_microbatches = microbatches + more;
      if (auto schedule = generated(spec, wanted)) return schedule;
    }
  }
  return std::nullopt;
}

}  // namespace plumb::testing
