#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace plumb {

/// One way to run a whole job.
struct JobChoice {
  std::int64_t devices = 1;  ///< devices of one node, or of whole nodes
  std::int64_t time_ns = 0;  ///< time from the first to the last update

  friend bool operator==(const JobChoice&, const JobChoice&) = default;
};

struct DeviceJob {
  std::string name;
  std::vector<JobChoice> choices;
};

/// Jobs that wait for the same devices: which of its choices does each take, on which devices, from when on, so that
/// the last of them is done as early as possible? A job that runs keeps its devices to its end. What Nagrecha and Kumar
/// (Saturn, arXiv 2309.01226) call SPASE, with jobs over whole nodes beside those inside of one.
struct JobProblem {
  std::int64_t nodes = 1;
  std::int64_t per_node = 1;  ///< devices, all alike
  std::vector<DeviceJob> jobs;

  std::int64_t devices() const { return nodes * per_node; }
};

/// Throws `Error` without jobs, for a job without choices, for choices that the devices have no room for, and for times
/// that are not above 0 or too long to be added.
void check_jobs(const JobProblem& problem);

/// Choices by devices, without those that take no less time than one on fewer devices.
std::vector<JobChoice> useful_choices(std::vector<JobChoice> choices);

/// Where and when a job runs.
struct JobPlace {
  JobChoice choice{};
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<std::int32_t> devices;  ///< ascending; device d is of node d / per_node
};

struct JobSchedule {
  std::vector<JobPlace> places;  ///< by job
  std::int64_t makespan_ns = 0;
};

}  // namespace plumb
