#include "sim/plan_search/waiting_setups.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace plumb {

WaitingSetups::WaitingSetups(const std::vector<PlanSetup>& setups) {
  std::int64_t number = 0;
  for (std::size_t at = 0; at < setups.size(); ++at) {
    if (setups[at].missing_bytes != 0) continue;
    waiting_.push_back({std::max(setups[at].estimate, setups[at].bound), ++number, at});
  }
  const auto turn = [](const WaitingSetup& setup) { return std::pair(setup.estimate, setup.number); };
  std::ranges::sort(waiting_, std::ranges::greater(), turn);
  Ticks least = std::numeric_limits<Ticks>::max();
  for (WaitingSetup& setup : waiting_) setup.least_bound = least = std::min(least, setups[setup.setup].bound);
}

}  // namespace plumb
