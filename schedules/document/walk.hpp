#pragma once

#include <cstddef>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Unfolds a device's list while it visits the actions, without storing the result; `walk` uses it.
template <class Visit>
class ListWalker {
 public:
  ListWalker(const DeviceList& list, Visit& visit) : list_(list), visit_(visit) {}

  /// Visits the actions [begin, end). `next` is the first repeat not yet opened, `total` what the repeats around have
  /// added so far.
  void walk(std::size_t begin, std::size_t end, std::size_t next, const Advance& total) {
    for (std::size_t at = begin; at < end;) {
      if (next >= list_.repeats.size() || list_.repeats[next].begin != at || list_.repeats[next].end > end) {
        visit_(advanced(list_.actions[at++], total));
        continue;
      }
      const Repeat& repeat = list_.repeats[next];
      Advance inner = total;
      for (std::int64_t i = 0; i < repeat.count; ++i) {
        if (i > 0) {
          inner.microbatch += repeat.advance.microbatch;
          inner.update += repeat.advance.update;
          inner.slice += repeat.advance.slice;
        }
        walk(at, repeat.end, next + 1, inner);
      }
      at = repeat.end;
      do ++next;
      while (next < list_.repeats.size() && list_.repeats[next].begin < at);
    }
  }

 private:
  const DeviceList& list_;
  Visit& visit_;
};

/// Calls `visit(Action)` for all actions of a device in order, repeats unfolded.
template <class Visit>
void walk(const DeviceList& list, Visit&& visit) {
  if (list.repeats.empty()) {
    for (const Action& action : list.actions) visit(action);
  } else {
    ListWalker(list, visit).walk(0, list.actions.size(), 0, Advance{});
  }
}

}  // namespace plumb
