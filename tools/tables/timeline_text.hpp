#pragma once

#include <string>

#include "sim/timeline/timeline.hpp"

namespace plumb {

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

}  // namespace plumb
