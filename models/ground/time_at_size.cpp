#include "models/ground/time_at_size.hpp"

#include <algorithm>
namespace plumb {
namespace {

__extension__ using WideTime = __int128;

/// 104 days; a double holds every integer up to here.
constexpr WideTime kLongest = WideTime{1} << 53U;

}  // namespace

std::int64_t time_at_size(TimeOfSize low, TimeOfSize high, std::int64_t bytes) {
  const WideTime apart = static_cast<WideTime>(high.bytes) - low.bytes;
  if (apart <= 0) return low.ns;
  const WideTime twice = 2 * (static_cast<WideTime>(high.ns) - low.ns) * (static_cast<WideTime>(bytes) - low.bytes);
  const WideTime nearest = twice + apart;
  const WideTime steps = nearest / (2 * apart) - (nearest % (2 * apart) < 0 ? 1 : 0);
  return static_cast<std::int64_t>(std::clamp<WideTime>(low.ns + steps, 0, kLongest));
}

}  // namespace plumb
