#pragma once

#include <vector>

#include "models/ground/units.hpp"

namespace plumb {

/// `RuntimeCosts` as the lanes of a program have them.
struct RuntimeTicks {
  std::vector<Ticks> host;  ///< by row: before the waits of an action; empty: the runtime costs nothing
  Ticks send = 0;
  Ticks send_posted = 0;
  Ticks receive = 0;

  bool costs() const { return !host.empty(); }
  /// Whether sending and receiving occupies lanes.
  bool has_calls() const { return send != 0 || send_posted != 0 || receive != 0; }
};

}  // namespace plumb
