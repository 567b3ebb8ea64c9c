#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// One thing that is wrong with a schedule.
struct Violation {
  DeviceId device{};
  std::size_t position = 0;  ///< in the expanded list of the device
  std::string action;        ///< its text
  std::string reason;        ///< what is wrong and what was expected

  friend bool operator==(const Violation&, const Violation&) = default;
};

/// All violations at once, in order of device and position; empty for a valid schedule.
///
/// Checked: indices in range, actions on a device that holds the stage, each action once, none missing, halves complete
/// (B, or I and W), order on the device (F before its backward, I before W, U after the backwards it applies),
/// microbatches in one replica, sends and receives that match, and deadlock, which is reported once with the cycle:
/// "deadlock: 1B0 on device 1 waits for 2B0 on device 2, which stands behind ...".
std::vector<Violation> validate(const Schedule& schedule);

/// One line per violation: `device 1, position 3: 1B0: runs before 1F0`.
std::string to_string(const Violation& violation);

}  // namespace plumb
