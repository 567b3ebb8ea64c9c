#pragma once

#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// By stage: the stage that its data comes in by, which takes the output of no other one. In a chain that is stage 0
/// for all; where several lead to a stage, the lowest of them.
std::vector<StageId> first_stages(const Schedule& schedule);

}  // namespace plumb
