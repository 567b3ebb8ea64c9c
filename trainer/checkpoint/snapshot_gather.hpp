#pragma once

#include "trainer/checkpoint/snapshot.hpp"
#include "trainer/processes/process_group.hpp"

namespace plumb {

/// Puts the snapshot of a run together from those of all processes, which must all call this. Returns everything in the
/// first process, as if all devices were there, and an empty snapshot in the others.
Snapshot gather_snapshot(ProcessGroup& group, const Snapshot& own);

}  // namespace plumb
