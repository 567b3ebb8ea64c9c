#pragma once

#include <string>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Returns one row per span, by device and start:
/// `device,lane,op,stage,microbatch,replica,start_ns,end_ns,idle_before_ns,cause` (cause only after idle time).
std::string csv_report(const Timeline& timeline);

}  // namespace plumb
