#include "schedules/catalogue/registry.hpp"

namespace plumb {

std::span<const ScheduleSpec> torch_schedules() {
  static const std::vector<ScheduleSpec> rows = with_rules("torch", {});
  return rows;
}

}  // namespace plumb
