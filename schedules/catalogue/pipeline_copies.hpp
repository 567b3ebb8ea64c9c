#pragma once

#include <functional>
#include <string_view>

#include "models/ground/named_option.hpp"
#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// The option of every synchronous schedule that makes copies of its pipeline with shares of the batch: `shares=5-3`.
inline constexpr std::string_view kCopyShares = "shares";
inline constexpr NamedOption kCopySharesOption{
    kCopyShares, list_form("M-M-..."), "one pipeline",
    "microbatches of every copy of the pipeline, as 5-3 of 8; they divide the devices equally; one update only"};

/// One update of the schedule `name` in as many copies as the option `shares` has numbers, on `num_devices` / copies
/// devices each, the first on the first devices. Copy k is what `one` makes for as many microbatches as its share says,
/// which come behind those of the copies before it; the shares are `num_microbatches` together. The holders of a stage
/// add up their gradients as those of every document do, after the last backward of each.
///
/// Throws `Error` for shares that are none, and for schedules that such copies cannot be made of: of several updates,
/// that decide at run time, or that name microbatches outside of their lists.
Schedule pipeline_copies(std::string_view name, const ScheduleParams& params,
                         const std::function<Schedule(const ScheduleParams&)>& one);

}  // namespace plumb
