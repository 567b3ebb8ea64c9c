#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/versions/delays.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// What a device waits for, in heads and rows of tables, in the order of `IdleCause`.
inline constexpr std::array<std::string_view, kIdleCauseCount> kIdleCauseTitles{
    "warm-up",    "drain",      "other device", "link latency", "link bandwidth",
    "link queue", "collective", "memory",       "runtime",      "missing rank"};

/// The figures of the whole run, one per line: `makespan         33 ms`.
std::string figures_text(const Timeline& timeline);

/// One row per device: busy and idle time, idle time by cause (causes that occur), peak memory. Of more than 32 devices
/// only the first 32 are shown, and the rest is counted.
std::string devices_text(const Timeline& timeline);

/// The tensors that are alive on every device at its peak, largest first, with their microbatches.
/// `timeline` must have been made with the composition of the peak.
std::string peaks_text(const Timeline& timeline);

/// The kinds of actions that the critical path consists of, largest first: the share by which each determines the
/// makespan.
/// `timeline` must have been made with its critical path.
std::string critical_path_text(const Timeline& timeline);

/// One row per holder of a stage: the distance from forward to backward, the age of the weights that its actions read
/// (the mean, and the range where it varies), the versions and copies kept. Of more than 32 rows only the first 32 are
/// shown, and the rest is counted.
std::string delays_text(const std::vector<StageDelays>& delays);

/// How often each delay occurs: one row per holder, kind of action and delay.
std::string delay_histogram_text(const std::vector<StageDelays>& delays);

}  // namespace plumb
