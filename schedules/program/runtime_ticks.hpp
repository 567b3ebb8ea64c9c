#pragma once

#include <vector>

#include "models/ground/units.hpp"

namespace plumb {

/// What the calls for one message take.
struct CallTicks {
  Ticks send = 0;
  Ticks send_posted = 0;
  Ticks receive = 0;
};

/// `RuntimeCosts` as the lanes of a program have them.
struct RuntimeTicks {
  std::vector<Ticks> host;       ///< by row: before the waits of an action; empty: the runtime costs nothing
  std::vector<CallTicks> calls;  ///< by transfer; empty: sending and receiving does not occupy lanes

  bool costs() const { return !host.empty(); }
  bool has_calls() const { return !calls.empty(); }
};

}  // namespace plumb
