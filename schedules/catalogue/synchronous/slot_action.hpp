#pragma once

#include <cstdint>

#include "schedules/document/action.hpp"

namespace plumb {

/// An action and its place in a paper's grid, where every forward and backward takes one slot. Generators put actions
/// into the grid and write a device's list in order of the slots.
struct SlotAction {
  std::int64_t slot = 0;
  Action action;
};

}  // namespace plumb
