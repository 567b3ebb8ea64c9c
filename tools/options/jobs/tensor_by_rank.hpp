#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

// `--tp-by-rank`: pipeline ranks (devices of the schedule) with unlike tensor-parallel degrees.

/// "2-2-4-4". Throws `Error` for what is no list of degrees.
std::vector<std::int32_t> parse_tensor_by_rank(const std::string& text);

/// The same for a pipeline of so many devices. Throws `Error` where there is not a degree for each.
std::vector<std::int32_t> parse_tensor_by_rank(const std::string& text, std::int32_t devices);

/// By stage of `schedule`: one of its devices. Throws `Error` where devices that hold the same stage have unlike ones
/// of `degrees`.
std::vector<std::int32_t> places_of_stages(const Schedule& schedule, const std::vector<std::int32_t>& degrees);

/// The same of a schedule that is not made yet, where that is known: one stage on each device. Throws `Error` for
/// others.
std::vector<std::int32_t> one_stage_each(std::int32_t stages, std::int32_t devices);

}  // namespace plumb
