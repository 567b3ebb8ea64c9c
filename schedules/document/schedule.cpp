#include "schedules/document/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace plumb {

bool is_chain(const Schedule& schedule) {
  if (!schedule.stage_edges) return true;
  const auto& edges = *schedule.stage_edges;
  std::vector<bool> hands_on(static_cast<std::size_t>(schedule.num_stages), false);
  for (const auto& [from, to] : edges) {
    if (index(to) != index(from) + 1) return false;
    hands_on[index(from)] = true;
  }
  return std::ssize(edges) == schedule.num_stages - 1 && std::ssize(edges) == std::ranges::count(hands_on, true);
}

std::vector<StageId> shares_of_blocks(const Schedule& schedule) {
  std::vector<StageId> shares;
  for (const std::vector<StageId>& group : schedule.start_together) {
    shares.insert(shares.end(), group.begin(), group.end());
  }
  return shares;
}

}  // namespace plumb
