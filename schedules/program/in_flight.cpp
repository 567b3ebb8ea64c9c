#include "schedules/program/in_flight.hpp"

#include <algorithm>

#include "schedules/document/list_cursor.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostActionsRead = 1'000'000;

}  // namespace

std::vector<std::int64_t> peak_in_flight(const Schedule& schedule) {
  std::vector<std::int64_t> peak(static_cast<std::size_t>(schedule.num_stages));
  for (const DeviceList& list : schedule.devices) {
    std::vector<std::int64_t> now(peak.size());
    for (ListCursor at(list); !at.at_end() && at.position() < kMostActionsRead; at.step()) {
      const Action action = at.action();
      std::int64_t& count = now[index(action.stage)];
      if (action.op == Op::kF) count += 1 + action.merged;
      if (action.op == Op::kB || action.op == Op::kW) count -= 1 + action.merged;
      peak[index(action.stage)] = std::max(peak[index(action.stage)], count);
    }
  }
  return peak;
}

}  // namespace plumb
