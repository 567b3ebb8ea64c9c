#include "tools/options/stash_limit.hpp"

#include "tools/options/memory_limit_argument.hpp"

namespace plumb {

double stash_share(const Schedule& schedule, const CostArguments& arguments) {
  return arguments.per_device && !arguments.memory.empty()
             ? 1.0
             : static_cast<double>(schedule.num_devices) / schedule.num_stages;
}

MemoryLimit parse_memory_limit(const CostArguments& arguments, const StageCosts& costs, const Schedule& schedule) {
  MemoryLimit limit = parse_memory_limit(arguments.memory_limit, costs);
  limit.stash_share = stash_share(schedule, arguments);
  limit.per_device = arguments.per_device;
  return limit;
}

}  // namespace plumb
