#pragma once

#include <vector>

#include "schedules/checks/violation.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// What is wrong with the document itself, in order of device and position: all of it at once.
///
/// Checked: indices in range, actions on a device that holds the stage, each action once, none missing, halves complete
/// (B, or I and W), order on the device (F before its backward, I before W, U after the backwards it applies),
/// microbatches in one replica, sends and receives that match, extra edges between actions that are there.
std::vector<Violation> check_document(const Schedule& schedule);

/// All violations; empty for a valid schedule. When the document itself is right, this is whether it runs to its end
/// (`check_runs`), so that a deadlock is reported once, with its cycle: "deadlock: 1B0 on device 1 waits for 2B0 on
/// device 2, which comes after 2F3; 2F3 on device 2 waits for ...".
std::vector<Violation> validate(const Schedule& schedule);

}  // namespace plumb
