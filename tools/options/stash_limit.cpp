#include "tools/options/stash_limit.hpp"

#include <algorithm>

#include "tools/options/memory_limit_argument.hpp"

namespace plumb {

double stash_share(const Schedule& schedule, const CostArguments& arguments) {
  const auto shares = static_cast<std::int32_t>(shares_of_blocks(schedule).size());
  return !arguments.per_stage && !arguments.memory.empty()
             ? 1.0
             : static_cast<double>(schedule.num_devices) / std::max(1, schedule.num_stages - shares);
}

MemoryLimit parse_memory_limit(const CostArguments& arguments, const StageCosts& costs, const Schedule& schedule) {
  MemoryLimit limit = parse_memory_limit(arguments.memory_limit, costs);
  limit.stash_share = stash_share(schedule, arguments);
  limit.per_stage = arguments.per_stage;
  return limit;
}

}  // namespace plumb
