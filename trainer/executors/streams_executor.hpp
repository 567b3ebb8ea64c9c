#pragma once

#include "trainer/executors/run_part.hpp"

namespace plumb {

/// One thread issues the work of all devices, in rounds: one action of each device that may be issued. What an action
/// waits for has been issued before, so no wait is for an event that is not recorded, and nothing can hang.
void run_streams(const RunPart& part);

}  // namespace plumb
