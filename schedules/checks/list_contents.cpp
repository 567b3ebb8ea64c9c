#include "schedules/checks/list_contents.hpp"

#include <utility>

#include "schedules/document/schedule_io.hpp"

namespace plumb {
namespace {

std::vector<std::vector<Share>> shares_of(const Schedule& schedule) {
  std::vector<std::vector<Share>> shares(static_cast<std::size_t>(schedule.num_devices));
  for (std::size_t replica = 0; replica < schedule.placement.size(); ++replica) {
    for (std::size_t stage = 0; stage < schedule.placement[replica].size(); ++stage) {
      const auto& devices = schedule.placement[replica][stage];
      for (std::size_t number = 0; number < devices.size(); ++number) {
        shares[index(devices[number])].push_back({ReplicaId{static_cast<std::int16_t>(replica)},
                                                  StageId{static_cast<std::int32_t>(stage)}, number, devices.size()});
      }
    }
  }
  return shares;
}

}  // namespace

ListContents::ListContents(const Schedule& schedule)
    : shares(shares_of(schedule)),
      seen(schedule),
      replica_of(static_cast<std::size_t>(schedule.num_microbatches), std::int16_t{-1}) {}

std::string text_of(StageId stage, Op op, std::int64_t number, ReplicaId replica) {
  Action action;
  action.stage = stage;
  action.op = op;
  action.microbatch = MicrobatchId{static_cast<std::int32_t>(number)};
  action.replica = replica;
  return to_string(action);
}

}  // namespace plumb
