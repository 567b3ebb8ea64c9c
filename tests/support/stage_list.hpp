#pragma once

#include <string>

#include "schedules/document/schedule.hpp"

namespace plumb::testing {

/// What a device computes, as papers write it where there is one stage on each: "F0 R0 B0", slices "F0.1".
inline std::string stage_list(const Schedule& schedule, std::int64_t device) {
  std::string text;
  for (const Action& action : expand(schedule.devices[static_cast<std::size_t>(device)])) {
    if (action.op == Op::kU || !is_compute(action.op)) continue;
    text += (text.empty() ? "" : " ") + std::string(kOpNames[static_cast<std::size_t>(action.op)]) +
            std::to_string(static_cast<std::int32_t>(action.microbatch));
    if (action.slice != Action::kAllSlices) text += "." + std::to_string(action.slice);
  }
  return text;
}

}  // namespace plumb::testing
