#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/shared_devices/job_problem.hpp"

namespace plumb {

struct JobEffort {
  std::int64_t tries = 40'000;         ///< list schedules of the local search
  std::int64_t most_states = 400'000;  ///< states of the exact search
  std::function<bool()> stop{};        ///< true ends the exact search; none: never
};

/// A rule that people follow without a plan for all jobs together, and what it gives.
struct SimpleJobRule {
  std::string name;  ///< "one after another"
  JobSchedule schedule;
};

struct JobAnswer {
  JobSchedule best;           ///< schedule that is no longer than any of `simple`
  std::int64_t bound_ns = 0;  ///< lower bound on the makespan of every schedule of these choices
  std::int64_t states = 0;    ///< states of the exact search
  std::vector<SimpleJobRule> simple;

  bool proved() const { return bound_ns == best.makespan_ns; }
  double gap() const {
    return static_cast<double>(best.makespan_ns - bound_ns) / static_cast<double>(best.makespan_ns);
  }
};

/// Finds a short schedule of the jobs: list schedules from several sets of choices, improved step by step; where a
/// lower bound does not prove the best of them, an exact search, which proves small cases. Same input, same answer,
/// unless `stop` ends it. Throws `Error` for what `check_jobs` refuses.
JobAnswer schedule_jobs(JobProblem problem, const JobEffort& effort = {});

}  // namespace plumb
