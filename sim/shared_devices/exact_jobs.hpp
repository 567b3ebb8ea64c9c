#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim/shared_devices/job_problem.hpp"

namespace plumb {

constexpr std::size_t kMostExactJobs = 64;

struct ExactJobs {
  JobSchedule best;       ///< given schedule, or a shorter one
  bool complete = false;  ///< proof is complete: no schedule is shorter than `best`
  std::int64_t states = 0;
};

/// Branch and bound over which job begins next, with which choice, on which node, each as early as it can begin. Some
/// optimal schedule is among these:
///
/// 1. *Order.* Take the jobs of an optimal schedule in the order of their starts, and begin each as early as its node
///    allows, but not before the one before it. No job begins later than it did, by induction over the order. Which
///    devices of the node it takes makes no difference: all that are free by then are free for every later start.
///
/// What is dropped has no shorter schedule, or as short a one elsewhere:
///
/// 2. *Bound.* States whose rest has no room (`has_room`) in less time than the best schedule.
/// 3. *Dominance.* States with the same jobs left as in one that was seen, in which no device is free earlier: what can
///    follow can follow that one, too.
/// 4. *Gaps.* Starts no earlier than the end of some job that can begin now. That job can go before: its devices are
///    free again by then, and it is done earlier than in any schedule that begins it later.
/// 5. *Equals.* Of equal jobs any but the first, and of nodes with equally free devices any but the first.
///
/// Ends after `most_states`, or when `stop` says so. Requires at most `kMostExactJobs` jobs.
ExactJobs exact_jobs(const JobProblem& problem, const JobSchedule& known, std::int64_t most_states,
                     const std::function<bool()>& stop = {});

}  // namespace plumb
