#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Returns whether a text is a log with timers of Megatron-LM.
bool is_timer_log(std::string_view text);

/// Reads the timers that Megatron-LM logs with `--timing-log-level 2 --timing-log-option all`, a timeline for every
/// time that it logs them, each of the average step of the log's interval. The timers are sums over a step, so that
/// busy and idle time of every rank are known (`forward-compute` + `backward-compute`, and the rest of
/// `forward-backward`), but neither spans nor causes. Lines may have the prefixes that launchers add. Devices are
/// ranks.
///
/// Throws `Error` with file and line where a log gives less than that: with the options `minmax` and `max` no rank's
/// times.
std::vector<Timeline> read_timer_log(std::string_view text, std::string_view file_name);

}  // namespace plumb
