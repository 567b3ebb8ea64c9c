#pragma once

#include <string>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Lists that do the work of a document with a policy in a plain order: update by update all forwards, then all
/// backwards; replicas in turn. What the devices decide (sim/events/policy_order.hpp) is a permutation of them.
std::vector<DeviceList> work_of_policy(const Schedule& schedule);

/// Why the document cannot be run by its policy; empty when it can.
std::string policy_fault(const Schedule& schedule);

}  // namespace plumb
