#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "schedules/document/device_list.hpp"
#include "schedules/phases/phase_frame.hpp"
#include "schedules/phases/phase_lines.hpp"

namespace plumb {

/// What is added to counts of rules: by statement (`PhaseRules::statements`: let, and counts of phases) and device.
using PhaseChanges = std::map<std::pair<std::size_t, std::int32_t>, std::int64_t>;

/// What every device does by the rules. Throws `Error` with the line for what cannot be expanded, and for passes that
/// are missing at the end.
std::vector<DeviceList> phase_lists(const PhaseRules& rules, const PhaseFrame& frame, const PhaseChanges& changes);

}  // namespace plumb
