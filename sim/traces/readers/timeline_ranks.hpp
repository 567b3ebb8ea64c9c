#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/timeline/timeline.hpp"
#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// A measured timeline and the file that it was read from.
struct TimelineFile {
  std::string name;
  Timeline timeline;
};

/// Returns why runs give no times of single passes of whole stages; empty where they do. They must be measured runs
/// with spans of one configuration, without replicas, slices, merged microbatches and overlapped pairs.
std::string profile_fault(std::span<const TimelineFile> files);

/// Returns what every rank did in runs without a `profile_fault`, one run after the other: a device is a rank, and an
/// update is a step. The first update of a run that has several warms up, and is left out. An action of the compute
/// lane is work: the program turned to it when the action before it was over. Messages have no calls of their own.
std::vector<RankRun> ranks_of_timelines(std::span<const TimelineFile> files);

}  // namespace plumb
