#include "schedules/rules/start_together.hpp"

namespace plumb {

CommonStarts::CommonStarts(const Schedule& schedule) {
  if (schedule.start_together.empty()) return;
  group_of_.assign(static_cast<std::size_t>(schedule.num_stages), -1);
  std::int32_t number = 0;
  for (const std::vector<StageId>& group : schedule.start_together) {
    for (const StageId stage : group) group_of_[index(stage)] = number;
    ++number;
  }
}

std::optional<CommonStart> CommonStarts::of(const Action& action) const {
  if (!(action.op == Op::kF || is_backward(action.op))) return std::nullopt;
  const std::int32_t group = group_of(action.stage);
  if (group < 0) return std::nullopt;
  return CommonStart{.group = group,
                     .replica = action.replica,
                     .backward = is_backward(action.op),
                     .microbatch = action.microbatch,
                     .slice = action.slice};
}

}  // namespace plumb
