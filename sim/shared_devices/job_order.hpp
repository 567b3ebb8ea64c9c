#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/shared_devices/job_problem.hpp"

namespace plumb {

/// Jobs in a row, each with one of its choices.
struct JobOrder {
  std::vector<std::size_t> jobs;    ///< every job once
  std::vector<std::size_t> choice;  ///< by job

  friend bool operator==(const JobOrder&, const JobOrder&) = default;
};

/// Jobs in the order given, each where it can start first, behind the jobs before it: a list schedule.
JobSchedule placed_in_order(const JobProblem& problem, const JobOrder& order);

/// The order in which the longest job comes first.
void longest_first(const JobProblem& problem, JobOrder& order);

/// Of every choice the one that takes the least time of devices among those of at most `most_ns`, or the shortest one;
/// the longest job first.
JobOrder frugal_order(const JobProblem& problem, std::int64_t most_ns);

/// All jobs on as many devices as they can use, one after the other where that is all of them.
JobOrder whole_cluster_order(const JobProblem& problem);

/// Every job on no more than an equal share of the devices, or on as few as it runs on.
JobOrder equal_share_order(const JobProblem& problem);

/// Every job on as few devices as it runs on; then the one that gets the most time shorter for every further device
/// gets them, as long as there are any (Optimus, Peng et al., EuroSys 2018).
JobOrder marginal_gain_order(const JobProblem& problem);

/// Changes choices and places in the row while that is no worse, from each of `orders`, with so many `tries` in all.
/// Same input, same answer.
JobOrder improved_order(const JobProblem& problem, const std::vector<JobOrder>& orders, std::int64_t tries);

}  // namespace plumb
