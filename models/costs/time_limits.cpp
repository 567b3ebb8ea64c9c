#include "models/costs/time_limits.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

[[noreturn]] void throw_too_long(const std::string& what, const std::string& ticks) {
  throw Error(what + " takes " + ticks + " ticks of the clock; expected at most " + std::to_string(kMostCost) +
              " (104 days at a tick per ns)");
}

}  // namespace

Ticks checked_ticks(double ticks, std::string_view what) {
  if (ticks <= static_cast<double>(kMostCost)) return std::llround(ticks);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", ticks);
  throw_too_long(std::string(what), text);
}

}  // namespace plumb
