#pragma once

#include <string_view>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Reads what `schedule_to_zero_bubble_table` writes, or another scheduler of the zero-bubble fork of Megatron-LM in
/// the same form: Python literals `SCHEDULE = [[(type, microbatch, chunk), ...], ...]`, one list per rank, types F, B
/// (our I), W and BW (our B), and optionally `STAGES = [[stage of chunk 0, ...], ...]`. Without stages chunks go round
/// the ranks, or down and up, whichever can run. Throws `Error` with line, rank and cell, or when both could.
Schedule schedule_from_zero_bubble_table(std::string_view text, std::string_view file_name);

}  // namespace plumb
