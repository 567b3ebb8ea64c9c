#pragma once

#include "trainer/executors/run_part.hpp"

namespace plumb {

/// One thread per device; they wait for each other in the mailbox and nowhere else.
void run_threads(const RunPart& part);

}  // namespace plumb
