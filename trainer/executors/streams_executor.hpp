#pragma once

#include "trainer/executors/run_part.hpp"

namespace plumb {

/// One thread asks all devices for their work, in rounds, one action of each that may be asked for. What an action
/// waits for has been asked for before, so no wait is for an event that is not recorded, and nothing can hang.
void run_streams(const RunPart& part);

}  // namespace plumb
