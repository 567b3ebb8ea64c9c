#include "sim/plan_search/narrow_searches.hpp"

#include <algorithm>
#include <utility>

namespace plumb {

std::vector<NarrowSearch> narrow_searches(const PlanJob& job, const PlanRanges& ranges, const PlanEffort& effort) {
  constexpr std::int64_t kShare = 8;
  const std::int64_t most = std::clamp<std::int64_t>(12'000 / std::max<std::int64_t>(1, job.num_devices), 200, 1500);
  std::vector<NarrowSearch> parts;
  for (const char* name : {"1f1b", "zb-v"}) {
    const auto& names = ranges.schedules;
    const bool allowed = names.empty() || std::find(names.begin(), names.end(), name) != names.end();
    if (!allowed || names.size() == 1) continue;
    NarrowSearch part{ranges, effort};
    part.ranges.schedules = {name};
    part.ranges.replicated = false;
    part.effort.most_simulations = std::min(most, effort.most_simulations / kShare);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace plumb
