#include "schedules/catalogue/searched/microbatch_mix.hpp"

#include <algorithm>
#include <numeric>

namespace plumb {
namespace {

__extension__ using Wide = __int128;

/// Above this many microbatches of one state the linear programme is close enough.
constexpr std::int64_t kMostCounted = 512;

/// One state a times and as many of the other as fit, for every a.
std::int64_t most_of_two(MicrobatchState large, MicrobatchState small, std::int64_t count, std::int64_t limit) {
  std::int64_t best = 0;
  for (std::int64_t a = 0; a <= count && a * large.stash <= limit; ++a) {
    const std::int64_t room = small.stash > 0 ? (limit - a * large.stash) / small.stash : count;
    best = std::max(best, a * large.value + std::min(count - a, room) * small.value);
  }
  return best;
}

/// The value of the vertex in which `low` and `high` (of more stash) use up both count and limit; 0 where there is
/// none.
std::int64_t vertex_value(MicrobatchState low, MicrobatchState high, std::int64_t count, std::int64_t limit) {
  const Wide spare = Wide{limit} - Wide{low.stash} * count;
  const Wide step = Wide{high.stash} - low.stash;
  if (spare < 0 || spare > step * count) return 0;
  return static_cast<std::int64_t>(Wide{low.value} * count + (Wide{high.value} - low.value) * spare / step);
}

}  // namespace

std::int64_t most_value(std::vector<MicrobatchState> states, std::int64_t count, std::int64_t limit) {
  const auto worthless = [](const MicrobatchState& state) { return state.value <= 0; };
  states.erase(std::remove_if(states.begin(), states.end(), worthless), states.end());
  if (states.empty() || count <= 0 || limit < 0) return 0;
  std::int64_t divisor = 0;
  std::int64_t most = 0;
  bool limited = false;
  for (MicrobatchState& state : states) {
    state.stash = std::max<std::int64_t>(state.stash, 0);
    divisor = std::gcd(divisor, state.stash);
    most = std::max(most, state.value);
    limited = limited || state.stash > limit / count;
  }
  if (!limited) return most * count;
  limit = limit / divisor * divisor;
  std::sort(states.begin(), states.end(),
            [](const MicrobatchState& a, const MicrobatchState& b) { return a.stash < b.stash; });
  if (states.size() == 1) return std::min(count, limit / states[0].stash) * states[0].value;
  if (states.size() == 2 && std::min(count, limit / states[1].stash) <= kMostCounted) {
    return most_of_two(states[1], states[0], count, limit);
  }
  states.insert(states.begin(), MicrobatchState{});
  std::int64_t best = 0;
  for (std::size_t high = 0; high < states.size(); ++high) {
    if (states[high].stash <= limit / count) best = std::max(best, states[high].value * count);
    for (std::size_t low = 0; low < high; ++low) {
      if (states[low].stash == states[high].stash) continue;
      best = std::max(best, vertex_value(states[low], states[high], count, limit));
    }
  }
  return best;
}

}  // namespace plumb
