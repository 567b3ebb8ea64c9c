#pragma once

#include <cstdint>

#include "models/ground/units.hpp"

namespace plumb {

/// The whole steady updates of a device of an asynchronous run that its step time is the mean of: from the end of one
/// of its updates to that of a later one, both counted from 0 in order of their ends.
struct SteadyUpdates {
  DeviceId device{};
  std::int64_t first = 0;
  std::int64_t last = 0;

  friend bool operator==(const SteadyUpdates&, const SteadyUpdates&) = default;
};

}  // namespace plumb
