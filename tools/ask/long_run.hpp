#pragma once

#include "sim/rules/run_size.hpp"

namespace plumb {

/// Notes how many actions are simulated and what they take, where that is several seconds, so that nobody wonders.
void note_long_run(const RunSize& size);

}  // namespace plumb
