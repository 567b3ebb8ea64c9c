#pragma once

#include <span>

#include "sim/timeline/timeline.hpp"
#include "trainer/plan/run_plan.hpp"
#include "trainer/run/device_report.hpp"

namespace plumb {

/// Returns the timeline of one run of the document, by the same definitions and rules as a simulated one.
///
/// Times are those of the run's clock. An action lasts from the moment when all it waits for is there until its results
/// are handed over, so copying messages counts as busy, as it does for the thread. Idle time that the rules of
/// `sim/lanes/idle_causes.hpp` do not explain (waking up, book-keeping) is overhead. Memory is what the arenas counted.
/// `reports` are those of all devices.
Timeline measured_timeline(const RunPlan& plan, std::span<const DeviceReport> reports);

}  // namespace plumb
