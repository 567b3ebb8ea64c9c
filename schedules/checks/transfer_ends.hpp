#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/rules/dependency_rules.hpp"

namespace plumb {

/// A message between two devices: the value of one microbatch that stage `stage` makes (its F, or its B or I).
struct Message {
  ReplicaId replica{};
  StageId stage{};
  bool forward = false;  ///< an activation; otherwise a gradient
  std::int64_t microbatch = 0;
  std::int16_t slice = Action::kAllSlices;
  std::int32_t from = 0;
  std::int32_t to = 0;

  friend auto operator<=>(const Message&, const Message&) = default;
};

/// The messages that the SEND or RECV `action` on `device` sends or receives: one per microbatch and stage at the other
/// end. Empty when the stage has no neighbour on that side. The other device may be out of range, or `device` itself;
/// neither makes a message.
std::vector<Message> messages_of(const Schedule& schedule, const DependencyRules& rules, std::int32_t device,
                                 const Action& action);

}  // namespace plumb
