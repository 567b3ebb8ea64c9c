#pragma once

#include <cstdint>
#include <vector>

#include "sim/shared_devices/job_problem.hpp"

namespace plumb {

/// A proved lower bound on the makespan of any schedule of these choices, at most `known_ns`, which some schedule
/// takes: the shortest time in which jobs could be done if their work, and what is left of it where wide choices are
/// weighed more (dual feasible functions, Fekete and Schepers 2001), filled devices without a gap, each job with a
/// choice that is no longer than that time.
std::int64_t jobs_bound(const JobProblem& problem, std::int64_t known_ns);

/// Whether devices that are free from `free_ns` on (one entry each) have room for the rest of `jobs` until `until_ns`,
/// with choices that are over by then when they begin at `from_ns`. False proves that no schedule is over by then.
bool has_room(const std::vector<std::int64_t>& free_ns, const std::vector<const DeviceJob*>& jobs, std::int64_t from_ns,
              std::int64_t until_ns);

}  // namespace plumb
