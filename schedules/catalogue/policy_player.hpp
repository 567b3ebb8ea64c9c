#pragma once

#include <cstdint>
#include <string_view>

#include "models/ground/named_option.hpp"
#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// Completes `schedule`, a chain with one stage per device and no lists yet, by a rule: with `order=run-time` the
/// document has `policy` itself; otherwise (`order=frozen`) its lists are what the devices decide in one step with the
/// costs in `params` (`chain_times`), repeated for every update. Throws `Error` if that would take too long, or if the
/// limits leave nothing to do.
void decide_by(std::string_view name, const ScheduleParams& params, const RunTimePolicy& policy, Schedule& schedule);

/// The option of `decide_by`, for catalogue rows.
inline constexpr NamedOption kOrderOption{
    "order",
    {"frozen", "run-time"},
    "frozen",
    "frozen: lists with the order that the rule gives for the costs; run-time: devices follow the rule while they run"};

}  // namespace plumb
