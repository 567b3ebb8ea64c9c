#pragma once

#include <cstddef>

#include "schedules/schedule.hpp"

namespace plumb {

/// Calls `visit(Action)` for the actions [begin, end) of `list` in order, repeats unfolded on the way and never stored;
/// `next` is the first repeat not yet opened, `total` what the repeats around have added so far.
/// Returns the first repeat behind `end`. Start with `walk(list, visit)`.
template <class Visit>
std::size_t walk(const DeviceList& list, std::size_t begin, std::size_t end, std::size_t next, const Advance& total,
                 Visit& visit) {
  for (std::size_t at = begin; at < end;) {
    const bool opens = next < list.repeats.size() && list.repeats[next].begin == at && list.repeats[next].end <= end;
    if (!opens) {
      visit(advanced(list.actions[at++], total));
      continue;
    }
    const Repeat& repeat = list.repeats[next];
    Advance inner = total;
    std::size_t behind = next + 1;
    while (behind < list.repeats.size() && list.repeats[behind].begin < repeat.end) ++behind;
    for (std::int64_t i = 0; i < repeat.count; ++i) {
      walk(list, at, repeat.end, next + 1, inner, visit);
      inner.microbatch += repeat.advance.microbatch;
      inner.update += repeat.advance.update;
      inner.slice += repeat.advance.slice;
    }
    next = behind;
    at = repeat.end;
  }
  return next;
}

/// All actions of a device in order.
template <class Visit>
void walk(const DeviceList& list, Visit&& visit) {
  if (list.repeats.empty()) {
    for (const Action& action : list.actions) visit(action);
  } else {
    walk(list, 0, list.actions.size(), 0, Advance{}, visit);
  }
}

}  // namespace plumb
