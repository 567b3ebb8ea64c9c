#pragma once

#include <cstdint>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// How a run that is measured trains.
struct ProfileKind {
  bool split = false;     ///< I and W apart
  bool crowded = false;   ///< all forwards of an update before its backwards
  bool copies = false;    ///< stashes go to the host and back
  bool alone = false;     ///< one action at a time over all devices; wants one microbatch per update
  bool changing = false;  ///< one action at a time in every other update, beginning with the first; fused only
};

/// What is measured: so many stages on so many devices, neighbours together.
struct ProfileShape {
  std::int32_t devices = 1;
  std::int32_t stages = 1;
  std::int64_t microbatches = 1;  ///< per update
  std::int64_t updates = 1;
};

/// 1F1B of devices, or GPipe where it is crowded; device d runs stages [d S / P, (d + 1) S / P), forwards in order,
/// backwards in reverse. With split backwards, W is put off by d microbatches. Where everything is to be alone, extra
/// edges put the weight gradients, then the updates, one after the other; where the load changes, the updates only: a
/// microbatch that is fused and is through before the next one begins is alone anyway.
Schedule profile_schedule(const ProfileShape& shape, const ProfileKind& kind);

}  // namespace plumb
