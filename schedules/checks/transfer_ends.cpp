#include "schedules/checks/transfer_ends.hpp"
#include "schedules/document/schedule.hpp"

#include <span>

namespace plumb {
namespace {

/// The neighbour that the named peer holds, or the first.
StageId stage_at(const Schedule& schedule, std::span<const StageId> stages, const Action& action,
                 std::int64_t microbatch) {
  for (const StageId stage : stages) {
    const DeviceId holder = device_of(schedule, action.replica, stage, microbatch);
    if (static_cast<std::int32_t>(holder) == action.where) return stage;
  }
  return stages.front();
}

}  // namespace

std::vector<Message> messages_of(const Schedule& schedule, const DependencyRules& rules, std::int32_t device,
                                 const Action& action) {
  const bool forward = action.op == Op::kSendF || action.op == Op::kRecvF;
  const bool next = action.op == Op::kSendF || action.op == Op::kRecvB;
  const auto stages = rules.sources(next ? Op::kB : Op::kF, action.stage);
  std::vector<Message> messages;
  const auto add = [&](StageId other, std::int64_t microbatch, std::int32_t peer) {
    const bool sends = is_send(action.op);
    messages.push_back({action.replica, sends ? action.stage : other, forward, microbatch, action.slice,
                        sends ? device : peer, sends ? peer : device});
  };
  for (std::int64_t i = 0; i <= action.merged && !stages.empty(); ++i) {
    const std::int64_t microbatch = static_cast<std::int32_t>(action.microbatch) + i;
    if (action.where != Action::kNowhere) {
      add(stage_at(schedule, stages, action, microbatch), microbatch, action.where);
      continue;
    }
    for (const StageId stage : stages) {
      add(stage, microbatch, static_cast<std::int32_t>(device_of(schedule, action.replica, stage, microbatch)));
    }
  }
  return messages;
}

}  // namespace plumb
