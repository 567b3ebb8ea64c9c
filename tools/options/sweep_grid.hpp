#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tools/options/jobs/job_degrees.hpp"

namespace plumb {

/// One simulation of a sweep.
struct SweepPoint {
  std::string schedule;
  ScheduleParams params;
  std::string cost = {};          ///< abstract costs; empty: none
  std::string memory_limit = {};  ///< empty: none
  JobDegrees job = {};            ///< how stages are spread
};

/// What a sweep runs over.
struct SweepRanges {
  std::vector<std::string> schedules;
  std::vector<std::int64_t> devices;
  std::vector<std::int64_t> chunks;
  std::vector<std::int64_t> microbatches;
  std::vector<std::string> costs{""};
  std::vector<std::string> memory_limits{""};
  std::vector<JobDegrees> jobs{JobDegrees{}};
};

/// All combinations: costs outermost, then memory limits, jobs, schedules, devices, chunks, microbatches. `base` has
/// what all share.
std::vector<SweepPoint> sweep_grid(const SweepRanges& ranges, const ScheduleParams& base);

}  // namespace plumb
