#include "schedules/catalogue/unit_order.hpp"

#include <string>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

std::int64_t group_size(std::string_view name, const ScheduleParams& params, std::int64_t otherwise) {
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t group = whole_number(name, params, "group", otherwise);
  require(group <= m, name,
          "group (" + std::to_string(group) + ") must be at most num_microbatches (" + std::to_string(m) + ")");
  require(group >= std::min(p, m), name,
          "group (" + std::to_string(group) + ") must be at least num_devices (" + std::to_string(p) + ")");
  const std::int64_t last = m % group;
  require(last == 0 || last >= p, name,
          "num_microbatches (" + std::to_string(m) + ") leaves a last group of " + std::to_string(last) +
              "; expected a multiple of the group (" + std::to_string(group) + ") or a rest of at least num_devices (" +
              std::to_string(p) + "); option group=N changes the group");
  return group;
}

}  // namespace plumb
