#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "schedules/catalogue/ready_action.hpp"
#include "schedules/document/run_time_policy.hpp"

namespace plumb {

/// Which of `ready` the device starts by the policy; nothing if it should wait. By arrival, of actions that
/// became ready at the same time: first what the device has waited for itself, then by priority.
std::optional<std::size_t> choose(const RunTimePolicy& policy, std::span<const ReadyAction> ready,
                                  const ReadyDevice& device);

}  // namespace plumb
