#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/shared_devices/job_schedule.hpp"
#include "sim/shared_devices/shard_rule.hpp"

namespace plumb {

/// A way to run one job, and what it is called.
struct JobPlan {
  JobChoice choice{};
  std::string plan;     ///< "1f1b, pp 4, ..."
  std::string command;  ///< that simulates it; empty: there is none
};

/// The answer of `plumbline plan --jobs`.
struct JobsAnswer {
  std::string cluster;  ///< "h100-2x8"; empty: not named
  JobProblem problem{};
  std::vector<std::vector<JobPlan>> plans{};  ///< by job, at least one each
  JobAnswer schedule{};
  std::optional<ShardRun> shards{};  ///< the jobs shard by shard (Hydra), where all of them have shards

  /// How `job` runs in the best schedule.
  const JobPlan& chosen(std::size_t job) const;
};

/// Jobs with their devices, start and end; the makespan against its bound and against simple rules; how to simulate
/// each.
std::string jobs_text(const JobsAnswer& answer);

/// `{"format": "plumbline-job-schedule", "version": 1, ...}`.
std::string jobs_json(const JobsAnswer& answer);

/// A row for every device, a bar for every job.
std::string jobs_svg(const JobsAnswer& answer);

/// "0-3 8": devices in ascending order.
std::string device_ranges(const std::vector<std::int32_t>& devices);
/// "3.2 h", "12.5 min", or shorter units.
std::string duration_text(std::int64_t ns);

}  // namespace plumb
