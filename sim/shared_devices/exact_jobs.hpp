#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim/shared_devices/job_problem.hpp"

namespace plumb {

constexpr std::size_t kMostExactJobs = 64;

struct ExactJobs {
  JobSchedule best;       ///< the given one, or a shorter one
  bool complete = false;  ///< no schedule is shorter than `best`
  std::int64_t states = 0;
};

/// Branch and bound over which job begins next, with which choice, on which node: all schedules in the order of their
/// starts, each start as early as it can be, which has an optimal one among them. What is dropped: schedules whose
/// rest has no room in less time than the best one, states in which the same jobs are left and no device is free
/// earlier than in one that was seen, starts before which another job could be begun and done, and one of two equal
/// jobs before the other. Ends after `most_states`, or when `stop` says so. Requires at most `kMostExactJobs` jobs.
ExactJobs exact_jobs(const JobProblem& problem, const JobSchedule& known, std::int64_t most_states,
                     const std::function<bool()>& stop = {});

}  // namespace plumb
