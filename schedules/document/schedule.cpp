#include "schedules/document/schedule.hpp"

namespace plumb {

std::vector<StageId> shares_of_blocks(const Schedule& schedule) {
  std::vector<StageId> shares;
  for (const std::vector<StageId>& group : schedule.start_together) {
    shares.insert(shares.end(), group.begin(), group.end());
  }
  return shares;
}

}  // namespace plumb
