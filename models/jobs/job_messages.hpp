#pragma once

#include "models/costs/stage_costs.hpp"
#include "models/jobs/job_clock.hpp"
#include "models/jobs/job_shape.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// Messages between stages are those of the network, divided over context ranks and, where each sends a share, over
/// tensor ranks.
/// In a plain chain, where a layer reads the one before it and nothing else, only the layers at both ends matter.
void set_messages(const Network& network, const LayerRange& range, const JobShape& shape, bool plain_chain,
                  StageMemory& memory);

/// Makes messages as small as the job compresses them, and adds to the passes what coding takes at this end: the value
/// and its code are read or written, and of activations the value that was sent for the same sample before, whose
/// difference travels, is read and written (AQ-SGD).
void compress_messages(const Parallelism& job, const JobClock& clock, StageMemory& messages, StageSeconds& seconds);

}  // namespace plumb
