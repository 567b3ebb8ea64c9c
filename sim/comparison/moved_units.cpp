#include "sim/comparison/moved_units.hpp"

#include <algorithm>
#include <limits>

namespace plumb {
namespace {

constexpr std::size_t kNoPlace = std::numeric_limits<std::size_t>::max();

/// A unit that a run has, too.
struct PlacedUnit {
  std::size_t unit = 0;
  Ticks start = 0;  ///< in the run
};

/// Those that are not in a longest rising sequence of starts, which can stay where they are.
void add_moved(const std::vector<PlacedUnit>& lane, std::vector<std::size_t>& moved) {
  std::vector<std::size_t> last;                           // by length: the sequence of that length that ends earliest
  std::vector<std::size_t> before(lane.size(), kNoPlace);  // in the sequence that ends with it
  for (std::size_t k = 0; k < lane.size(); ++k) {
    const auto place = std::ranges::upper_bound(last, lane[k].start, {}, [&](std::size_t i) { return lane[i].start; });
    if (place != last.begin()) before[k] = *std::prev(place);
    if (place == last.end()) {
      last.push_back(k);
    } else {
      *place = k;
    }
  }
  std::vector<bool> stays(lane.size(), false);
  for (std::size_t k = last.empty() ? kNoPlace : last.back(); k != kNoPlace; k = before[k]) stays[k] = true;
  for (std::size_t k = 0; k < lane.size(); ++k) {
    if (!stays[k]) moved.push_back(lane[k].unit);
  }
}

bool ran_apart(const ReplayUnit& unit, std::span<const RunWork> works) {
  if (unit.behind - unit.member != 2) return false;
  const RunWork& first = works[unit.member];
  const RunWork& second = works[unit.member + 1];
  const bool both = first.span != nullptr && second.span != nullptr;
  return both && (second.start >= first.end || first.start >= second.end);
}

}  // namespace

std::vector<std::size_t> moved_units(const ReplayGraph& graph, std::span<const RunWork> works) {
  std::vector<std::size_t> moved;
  std::vector<PlacedUnit> lane;
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    if (graph.units[u].first) {
      add_moved(lane, moved);
      lane.clear();
    }
    const RunWork& work = works[graph.units[u].member];
    if (work.span != nullptr) lane.push_back({u, work.start});
  }
  add_moved(lane, moved);
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    if (ran_apart(graph.units[u], works)) moved.push_back(u);
  }
  std::ranges::sort(moved);
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());  // clang 14 has no ranges::unique
  return moved;
}

}  // namespace plumb
