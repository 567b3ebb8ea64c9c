#include "models/costs/time_limits.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include "models/ground/error.hpp"

namespace plumb {

Ticks checked_ticks(double ticks, std::string_view what, Ticks most) {
  if (ticks <= static_cast<double>(most)) return std::llround(ticks);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", ticks);
  throw Error(std::string(what) + " takes " + text + " ticks of the clock; expected at most " + std::to_string(most) +
              " (" + (most == kMostLayerTime ? "73 minutes" : "104 days") + " at a tick per ns)");
}

}  // namespace plumb
