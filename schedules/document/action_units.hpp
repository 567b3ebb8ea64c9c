#pragma once

#include <cstddef>
#include <span>

#include "schedules/document/action.hpp"

// Units of a list of actions: an action, or an overlapped pair of two. (Of a program: schedules/program/waits.hpp.)

namespace plumb {

/// The place after the unit that begins with `first`.
inline std::size_t unit_end(std::span<const Action> actions, std::size_t first) {
  return first + (actions[first].overlaps_next ? 2 : 1);
}

/// The first place of the unit that `at` is in.
inline std::size_t unit_begin(std::span<const Action> actions, std::size_t at) {
  return at > 0 && actions[at - 1].overlaps_next ? at - 1 : at;
}

}  // namespace plumb
