#pragma once

#include <string_view>

#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// The schedule `of` of the catalogue under another name, for rows with `alias_of`. `params.options` are
/// those of `of`.
Schedule generate_as(std::string_view name, std::string_view of, const ScheduleParams& params);

}  // namespace plumb
