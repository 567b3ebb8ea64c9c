#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/ground/units.hpp"
#include "trainer/plan/run_plan.hpp"

namespace plumb {

/// Returns why the devices of a run do not have room in `available` bytes of memory: what they need, what fills it, and
/// what would help. Empty where they do. What they need is known to the byte before anything is allocated
/// (`MemoryModel`). `own`: the only device that this process has; none: it has all of them.
std::string why_no_room(const RunPlan& plan, std::optional<DeviceId> own, std::int64_t available);

/// Throws `Error` where the memory that this process can still get is too small for its devices. Says nothing of back
/// ends with memory of their own, or without any.
void check_room(const RunPlan& plan, std::optional<DeviceId> own);

}  // namespace plumb
