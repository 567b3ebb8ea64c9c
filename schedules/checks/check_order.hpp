#pragma once

#include <vector>

#include "schedules/checks/violation.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// What stands in an impossible order in lists from which actions may be missing, as in a text with mistakes: actions
/// that stand twice, before what they need on their device, or, where there is nothing of that kind, in a cycle of waits
/// over several devices. Whatever the missing ones are, this is wrong. Passes only (F, B, I, W, R), waiting by the rules
/// of `DependencyRules`; placement and updates are not looked at.
std::vector<Violation> check_order(const Schedule& part);

}  // namespace plumb
