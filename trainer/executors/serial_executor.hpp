#pragma once

#include "trainer/executors/run_part.hpp"

namespace plumb {

/// All devices on the calling thread, in a topological order of the program: any number of virtual devices.
void run_serial(const RunPart& part);

}  // namespace plumb
