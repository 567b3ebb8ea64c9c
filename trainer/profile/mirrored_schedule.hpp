#pragma once

#include "schedules/document/schedule.hpp"
#include "trainer/profile/profile_schedule.hpp"

namespace plumb {

/// Returns two copies of a pipeline, the second one in the opposite direction, whose gradients are reduced while weight
/// gradients are still computed: this shows how much a reduction slows computing down.
///
///     d0: F of stage 0 and of the last one by turns, I likewise, all W of the last stage,
///         its reduction beside all W of stage 0, the reduction of that, updates
///     dp: the same with the copies exchanged
///
/// Half of the microbatches, which must be even, go each way. `alone`: one action at a time over all devices, in the
/// same order, and reductions beside nothing that their members compute.
Schedule mirrored_schedule(const ProfileShape& shape, bool alone);

}  // namespace plumb
