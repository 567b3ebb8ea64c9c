#pragma once

#include "trainer/checkpoint/snapshot.hpp"
#include "trainer/processes/process_group.hpp"

namespace plumb {

/// The snapshot of a run from what every process has of it; all call this. At the first process: everything, as if all
/// devices were there; elsewhere nothing.
Snapshot gather_snapshot(ProcessGroup& group, const Snapshot& own);

}  // namespace plumb
