#pragma once

#include <string_view>

#include "models/ground/work_size.hpp"

namespace plumb {

/// Notes how many actions are worked on and what they take, where that is several seconds, so that nobody wonders.
/// `doing`: "checking".
void note_long_work(std::string_view doing, const WorkSize& size);

/// That note about a simulation.
void note_long_run(const WorkSize& size);

}  // namespace plumb
