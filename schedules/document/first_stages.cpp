#include "schedules/document/first_stages.hpp"

#include <cstddef>

namespace plumb {

std::vector<StageId> first_stages(const Schedule& schedule) {
  const auto count = static_cast<std::size_t>(schedule.num_stages);
  std::vector<StageId> first(count, StageId{0});
  if (!schedule.stage_edges) return first;
  std::vector<std::vector<StageId>> next(count);
  std::vector<bool> takes(count, false);
  for (const auto& [from, to] : *schedule.stage_edges) {
    next[index(from)].push_back(to);
    takes[index(to)] = true;
  }
  std::vector<bool> reached(count, false);
  for (std::int32_t source = 0; source < schedule.num_stages; ++source) {
    if (takes[static_cast<std::size_t>(source)]) continue;
    std::vector<StageId> open{StageId{source}};
    while (!open.empty()) {
      const StageId stage = open.back();
      open.pop_back();
      if (reached[index(stage)]) continue;
      reached[index(stage)] = true;
      first[index(stage)] = StageId{source};
      open.insert(open.end(), next[index(stage)].begin(), next[index(stage)].end());
    }
  }
  return first;
}

}  // namespace plumb
