#pragma once

#include <cstddef>
#include <string>

#include "models/ground/units.hpp"

namespace plumb {

/// One thing that is wrong with a schedule.
struct Violation {
  DeviceId device{};
  std::size_t position = 0;  ///< in the expanded list of the device
  std::string action;        ///< its text
  std::string reason;        ///< what is wrong and what was expected

  friend bool operator==(const Violation&, const Violation&) = default;
};

/// One line per violation: `device 1, position 3: 1B0: runs before 1F0`.
std::string to_string(const Violation& violation);

}  // namespace plumb
