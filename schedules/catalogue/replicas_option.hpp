#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/catalogue/schedule_params.hpp"

namespace plumb {

/// The numbers of "2-1-1"; empty when it is none or a number is not in [1, most].
std::vector<std::int64_t> dashed_numbers(const std::string& text, std::int64_t most);

/// Devices of every stage, from the option `replicas=2-1-1`; empty without it. Throws `Error` unless all are at least 1
/// and together `num_devices`.
std::vector<std::int64_t> replicas_option(std::string_view name, const ScheduleParams& params);

/// Microbatches that a holder of each of `stages` stages may keep, from the option `limit=2` or `limit=1-3-2`; the most
/// that can be without it. Throws `Error` unless all are at least 1.
std::vector<std::int64_t> limits_option(std::string_view name, const ScheduleParams& params, std::size_t stages);

}  // namespace plumb
