#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// How to run a valid schedule in PyTorch and Megatron-LM: files, classes, flags and layouts, or the reason why it
/// cannot be run there, and what its transfers rely on. `layers` are the decoder layers of every stage; empty when they
/// are not known. `csv_command` is the command that writes the schedule as schedule.csv.
std::string schedule_guide(const Schedule& schedule, const std::vector<std::int64_t>& layers,
                           const std::string& csv_command);

/// Decoder layers of every stage from "26" (spread evenly, the first stages getting one more) or "3,4,4,3". Throws
/// `Error` when there are fewer layers than stages or another number of parts.
std::vector<std::int64_t> parse_layers(std::string_view text, std::int32_t num_stages);

}  // namespace plumb
