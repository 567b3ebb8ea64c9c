#pragma once

#include <cstdint>
#include <vector>

#include "sim/shared_devices/job_problem.hpp"

namespace plumb {

/// Returns a lower bound on the makespan of every schedule of these choices, at most `known_ns`, which some schedule
/// takes.
///
/// Write N for the nodes and G for the devices of each. A choice takes g devices for a time t: x = g / G of a node, or
/// x = 1 of each of several nodes. A function u from [0, 1] is dual feasible if, whenever some x add up to at most 1,
/// so do their u(x) (Fekete and Schepers 2001). These are tried: u(x) = x and, for k = 1 to G,
///
///     u_k(x) = x if (k + 1) x is whole, and floor((k + 1) x) / k otherwise.
///
/// 1. *Area.* If a schedule is over at T, each job has a choice with t <= T such that t u(x), added up over all jobs
/// and
///    the nodes that each takes, is at most N T.
///    Choices that run on a node at a moment have x that add up to at most 1, so their u(x) do, too. The sum over nodes
///    and moments gives the statement.
/// 2. *Bound.* Let every job take the choice with t <= T that has the least t u(x). If these exceed N T, or if some job
///    has no such choice, no schedule is over at T, nor before: fewer choices are left then, and less area. So
///    bisection finds the largest such T; the bound is the next one, for the u that gives most.
std::int64_t jobs_bound(const JobProblem& problem, std::int64_t known_ns);

/// Returns whether devices that are free from `free_ns` on (one entry each) have room until `until_ns` for the rest of
/// `jobs`, by statement 1 with u(x) = x. Only choices count that are over by then if they begin at `from_ns`. False
/// proves that no schedule is over by then.
bool has_room(const std::vector<std::int64_t>& free_ns, const std::vector<const DeviceJob*>& jobs, std::int64_t from_ns,
              std::int64_t until_ns);

}  // namespace plumb
