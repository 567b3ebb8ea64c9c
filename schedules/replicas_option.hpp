#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedules/registry.hpp"

namespace plumb {

/// Devices of every stage, from the option `replicas=2-1-1`; empty without it. Throws `Error` unless all are at least 1
/// and together `num_devices`.
std::vector<std::int64_t> replicas_option(std::string_view name, const ScheduleParams& params);

}  // namespace plumb
