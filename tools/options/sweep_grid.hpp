#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tools/options/job_degrees.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {

/// Numbers of a range: "2,4,8", "8:64:8" (from 8 to 64 in steps of 8), "1:4", and mixtures such as "1,2,4:16:4".
/// Throws `Error` for anything else, numbers not `within`, and more than 100000 numbers.
std::vector<std::int64_t> parse_range(std::string_view text, std::string_view where,
                                      NumberRange within = {.least = 1, .most = std::int64_t{1} << 40});

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
