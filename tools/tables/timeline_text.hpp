#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/program/program.hpp"
#include "schedules/versions/delays.hpp"
#include "sim/simulate.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {

/// What a device waits for, in heads and rows of tables, in the order of `IdleCause`.
inline constexpr std::array<std::string_view, kIdleCauseCount> kIdleCauseTitles{
    "warm-up",    "drain",      "other device", "link latency", "link bandwidth",
    "link queue", "collective", "memory",       "runtime",      "missing rank"};

/// The same in sentences.
inline constexpr std::array<std::string_view, kIdleCauseCount> kIdleCauseTexts{"filling the pipeline",
                                                                               "draining the pipeline",
                                                                               "waiting for other devices",
                                                                               "link latency",
                                                                               "link bandwidth",
                                                                               "links that are busy",
                                                                               "collectives and updates",
                                                                               "copies to and from other memory",
                                                                               "the runtime",
                                                                               "devices of which nothing is known"};

/// "1f1b: 33 units a step; bubble 27.3 %".
std::string step_verdict(const Timeline& timeline, TimeWords words = {});

/// ", mostly waiting for other devices"; empty where devices never wait, and in a steady state.
std::string cause_verdict(const Timeline& timeline);

/// The figures of the whole run, one per line: `step time        33 ms`. The makespan and the utilization only where
/// they say something else than the step time and the bubble.
std::string figures_text(const Timeline& timeline, TimeWords words = {});

/// How the rows of devices are told.
struct DeviceWords {
  TimeWords times{};
  double stash_share = 1;             ///< part of a device's share of the model that a stash of one stage belongs to
  std::string held = "microbatches";  ///< what is held at a peak, where bytes are not known
};

/// One row per device, or several that are equal: busy and idle time, idle time by cause (causes that occur), and at
/// most how many microbatches of its share of the model it holds at once, or the bytes of its peak where they are
/// known. Of more than 32 devices only the first 32 are shown, and the rest is counted.
std::string devices_text(const Timeline& timeline, const DeviceWords& words = {});

/// The tensors that are alive on every device at its peak, largest first, with their microbatches.
/// `timeline` must have been made with the composition of the peak.
std::string peaks_text(const Timeline& timeline);

/// The kinds of actions that the critical path consists of, largest first: the share by which each determines the
/// makespan.
/// `timeline` must have been made with its critical path.
std::string critical_path_text(const Timeline& timeline, TimeWords words = {});

/// One row per holder of a stage: the distance from forward to backward, the age of the weights that its actions read
/// (the mean, and the range where it varies), the versions and copies kept. Of more than 32 rows only the first 32 are
/// shown, and the rest is counted.
std::string delays_text(const std::vector<StageDelays>& delays);

/// How often each delay occurs: one row per holder, kind of action and delay.
std::string delay_histogram_text(const std::vector<StageDelays>& delays);

/// "What if all W took 0.9 of their time": one kind of action made faster or slower.
struct WhatIf {
  std::string kind;
  double factor = 1;
};

/// Reads "W=0.9" (a factor of the time). Throws `Error` for anything else.
WhatIf parse_what_if(std::string_view text);

/// A table of the makespan with each change, compared with `makespan`, that of `program` as it is.
/// Throws `Error` for kinds that the program does not have.
std::string what_if_text(const Program& program, const SimOptions& options, Ticks makespan,
                         const std::vector<WhatIf>& changes, TimeWords words = {});

}  // namespace plumb
