#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/document/action.hpp"

namespace plumb {

/// What one iteration of a repeat block adds to the indices of its actions.
struct Advance {
  std::int32_t microbatch = 0;
  std::int32_t update = 0;
  std::int32_t slice = 0;

  friend bool operator==(const Advance&, const Advance&) = default;
};

/// The action one (or, for a sum of advances, several) iterations later. Actions without a microbatch stay as they are.
constexpr Action advanced(Action action, const Advance& by) {
  const std::int32_t step = action.op == Op::kU || action.op == Op::kV ? by.update : by.microbatch;
  const std::int32_t number = static_cast<std::int32_t>(action.microbatch);
  if (number >= 0) action.microbatch = MicrobatchId{number + step};
  if (action.slice != Action::kAllSlices) action.slice = static_cast<std::int16_t>(action.slice + by.slice);
  return action;
}

/// `actions[begin, end)` of a device, `count` times. Repeats are nested or disjoint; outer ones come first.
struct Repeat {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t count = 1;
  Advance advance;

  friend bool operator==(const Repeat&, const Repeat&) = default;
};

/// The ordered work of one device, repeat blocks folded.
struct DeviceList {
  std::vector<Action> actions;
  std::vector<Repeat> repeats;

  friend bool operator==(const DeviceList&, const DeviceList&) = default;
};

/// Number of actions of `list` once its repeats are expanded. Computed, never expanded; saturates at INT64_MAX.
std::int64_t expanded_size(const DeviceList& list);

/// The device's actions in order, repeats expanded. Throws `Error` above `limit` actions, before expanding.
std::vector<Action> expand(const DeviceList& list, std::int64_t limit = std::int64_t{1} << 31);

}  // namespace plumb
