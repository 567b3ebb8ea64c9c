#include "sim/runtimes/torch_messages.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/formats/torch_lowering.hpp"

namespace plumb {
namespace {

/// PyTorch's gathers and reductions take turns with the messages, so they are taken out only afterwards.
Schedule with_own_messages(const Schedule& schedule) {
  Schedule lowered = torch_lowered(schedule);
  for (DeviceList& list : lowered.devices) {
    std::erase_if(list.actions, [](const Action& action) { return is_collective(action.op); });
  }
  return lowered;
}

bool has_action(const Schedule& schedule, bool (*is_one)(const Action&)) {
  return std::ranges::any_of(schedule.devices,
                             [&](const DeviceList& list) { return std::ranges::any_of(list.actions, is_one); });
}

/// Whether it has overlapped pairs, and leaves it to the runtime where messages and gathers stand.
bool leaves_messages_of_pairs(const Schedule& schedule) {
  return has_action(schedule, [](const Action& action) { return action.overlaps_next != 0; }) &&
         !has_action(schedule, [](const Action& action) {
           return is_send(action.op) || is_recv(action.op) || is_collective(action.op);
         });
}

}  // namespace

Schedule with_deferred_receives(const Schedule& schedule, std::string_view runtime) {
  Schedule lowered = torch_lowered(schedule, {.collectives = false, .late_receives = true});
  const auto findings = validate(lowered);
  if (findings.empty()) return lowered;
  throw Error("--runtime " + std::string(runtime) + ": PyTorch would take messages of '" + schedule.name +
              "' for each other: " + to_string(findings.front()));
}

Schedule with_messages_of_pairs(Schedule schedule) {
  return leaves_messages_of_pairs(schedule) ? with_own_messages(schedule) : std::move(schedule);
}

}  // namespace plumb
