#pragma once

#include "models/jobs/job_clock.hpp"
#include "models/jobs/job_memory.hpp"
#include "models/jobs/job_shape.hpp"
#include "models/jobs/update_seconds.hpp"

namespace plumb {

/// The update of a stage with the parameters `of_stage`, whose memory is known. `hides`: the passes that its
/// collectives may run beside.
UpdateSeconds update_seconds(const DeviceParameters& of_stage, const JobShape& shape, const JobClock& clock,
                             const StageMemory& memory, const StageTimes& hides);

/// A job, and the same where layers are sharded as by ZeRO 3.
struct JobShapes {
  const JobShape& others;
  const JobShape& sharded;
};

/// The same where some layers of the stage are sharded otherwise than the others: of these, only what MiCS sums between
/// groups is left for the update.
UpdateSeconds stage_update(const StageHolding& holding, const JobShapes& shapes, const JobClock& clock,
                           const StageMemory& memory, const StageTimes& hides);

}  // namespace plumb
