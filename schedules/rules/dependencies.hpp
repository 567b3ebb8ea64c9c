#pragma once

#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/rules/dependency.hpp"

namespace plumb {

/// The dependencies of one action: everything that `action` of `schedule` needs, by rule and by `extra_edges`.
/// At most four entries for a chain. Updates and collectives depend on order, which the validator checks.
std::vector<Dependency> dependencies(const Schedule& schedule, const Action& action);

}  // namespace plumb
