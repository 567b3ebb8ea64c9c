#pragma once

#include <string_view>

#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/phases/phase_lines.hpp"
#include "schedules/phases/phase_writer.hpp"

namespace plumb {

/// The schedule that rules (RULES.md) give for these sizes and values of their options. Throws `Error` with file and
/// line for rules that cannot be read, conditions that do not hold, a backward without a forward, a weight gradient
/// without an input gradient, and passes that are missing or too many.
Schedule schedule_from_rules(std::string_view text, std::string_view file_name, const ScheduleParams& params);

/// The same with other counts than the rules say.
Schedule schedule_from_rules(const PhaseRules& rules, std::string_view file_name, const ScheduleParams& params,
                             const PhaseChanges& changes);

}  // namespace plumb
