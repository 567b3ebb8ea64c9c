#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schedules/document/action.hpp"

namespace plumb {

/// An action that its device could start now: its inputs have arrived, and no earlier action of the list is needed
/// first.
struct ReadyAction {
  Action action;
  std::size_t overtakes = 0;  ///< actions of the device's list that stand before it and would run later
  Ticks since = 0;            ///< when its last input from another device arrived
};

/// The device that decides.
struct ReadyDevice {
  DeviceId device{};
  std::int64_t kept = 0;         ///< microbatches of a stage whose forward has run, and whose backward (B or W) has not
  std::int64_t forwards = 0;     ///< that it has run
  std::span<const Ticks> freed;  ///< when each of its backwards (B or W) ended, in order
};

}  // namespace plumb
