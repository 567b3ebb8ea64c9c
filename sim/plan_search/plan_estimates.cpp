#include "sim/plan_search/plan_estimates.hpp"

#include <algorithm>
#include <numeric>

namespace plumb {

std::vector<std::size_t> positions_of(const ScheduleVariant& variant, std::size_t stage, std::size_t places) {
  const std::string_view placement = variant.spec->placement;
  const std::size_t along = stage % places;
  const std::size_t back = places - 1 - along;
  if (placement == "bidirectional") return {along, back};
  const bool turns = (placement == "v" || placement == "zigzag") && stage / places % 2 == 1;
  return {turns ? back : along};
}

std::vector<double> position_loads(const ScheduleVariant& variant, const std::vector<double>& loads,
                                   const std::vector<double>& speed) {
  std::vector<double> sums(speed.size());
  for (std::size_t s = 0; s < loads.size(); ++s) {
    const std::vector<std::size_t> positions = positions_of(variant, s, speed.size());
    for (const std::size_t at : positions) sums[at] += loads[s] / static_cast<double>(positions.size()) / speed[at];
  }
  return sums;
}

double estimated_ticks(const std::vector<double>& position_loads, std::int64_t microbatches, double fill) {
  const double slowest = *std::max_element(position_loads.begin(), position_loads.end());
  const double mean =
      std::accumulate(position_loads.begin(), position_loads.end(), 0.0) / static_cast<double>(position_loads.size());
  return static_cast<double>(microbatches) * slowest + fill * static_cast<double>(position_loads.size() - 1) * mean;
}

std::vector<double> stage_loads(const LayerPrices& prices, const Partition& cut) {
  std::vector<double> loads;
  for (std::size_t s = 0; s < cut.num_stages(); ++s) {
    const LayerRange range = cut.range(s);
    loads.push_back(std::accumulate(prices.load.begin() + static_cast<std::ptrdiff_t>(range.begin),
                                    prices.load.begin() + static_cast<std::ptrdiff_t>(range.end), 0.0));
  }
  return loads;
}

bool has_probably_room(const LayerPrices& prices, std::int32_t places, double kept) {
  const std::int64_t most = *std::max_element(prices.usable_bytes.begin(), prices.usable_bytes.end());
  const bool limited =
      std::find(prices.usable_bytes.begin(), prices.usable_bytes.end(), 0) == prices.usable_bytes.end();
  const double stashes = std::accumulate(prices.kept_bytes.begin(), prices.kept_bytes.end(), 0.0);
  const double held = static_cast<double>(prices.whole_held_bytes) / places;
  return !limited || held + kept * stashes <= static_cast<double>(most);
}

}  // namespace plumb
