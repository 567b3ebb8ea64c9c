#pragma once

#include "schedules/document/schedule.hpp"
#include "trainer/profile/profile_schedule.hpp"

namespace plumb {

/// Two copies of a pipeline, the second one the other way round, whose gradients are reduced while weight gradients are
/// still computed: what shows how much of a device a reduction takes.
///
///     d0: F of stage 0 and of the last one by turns, I likewise, all W of the last stage,
///         its reduction beside all W of stage 0, the reduction of that, updates
///     dp: the same with the copies exchanged
///
/// Half of the microbatches, which must be even, go each way. `alone`: one action at a time over all devices, in the
/// same order, and reductions beside nothing that their members compute.
Schedule mirrored_schedule(const ProfileShape& shape, bool alone);

}  // namespace plumb
