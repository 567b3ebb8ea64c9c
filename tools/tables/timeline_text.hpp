#pragma once

#include <string>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// The figures of the whole run, one per line: `makespan         33 ms`.
std::string figures_text(const Timeline& timeline);

/// One row per device: busy and idle time, idle time by cause (causes that occur), peak memory. Past the first 32
/// devices, which are counted, nothing is shown.
std::string devices_text(const Timeline& timeline);

/// What is alive on every device at its peak, largest first: tensors and for which microbatches.
/// `timeline` must have been made with the composition of the peak.
std::string peaks_text(const Timeline& timeline);

/// What the critical path is spent on, largest first: also how much the makespan follows each kind of action.
/// `timeline` must have been made with its critical path.
std::string critical_path_text(const Timeline& timeline);

}  // namespace plumb
