#pragma once

#include <vector>

#include "schedules/checks/violation.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// All violations at once, in order of device and position; empty for a valid schedule.
///
/// Checked: indices in range, actions on a device that holds the stage, each action once, none missing, halves complete
/// (B, or I and W), order on the device (F before its backward, I before W, U after the backwards it applies),
/// microbatches in one replica, sends and receives that match, and deadlock, which is reported once with the cycle:
/// "deadlock: 1B0 on device 1 waits for 2B0 on device 2, which comes after ...".
std::vector<Violation> validate(const Schedule& schedule);

}  // namespace plumb
