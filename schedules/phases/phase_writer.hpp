#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "schedules/catalogue/list_builder.hpp"
#include "schedules/phases/phase_frame.hpp"
#include "schedules/phases/phase_lines.hpp"

namespace plumb {

/// What is added to counts of rules: by statement (`PhaseRules::statements`: let, and counts of phases) and device.
using PhaseChanges = std::map<std::pair<std::size_t, std::int32_t>, std::int64_t>;

/// Appends what device `device` does by the rules, in one update or, where `frame.whole`, in all. Throws `Error` with
/// the line for what cannot be expanded, and for passes that are missing at the end.
void write_phases(const PhaseRules& rules, const PhaseFrame& frame, std::int32_t device, const PhaseChanges& changes,
                  ListBuilder& list);

}  // namespace plumb
