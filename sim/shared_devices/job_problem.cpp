#include "sim/shared_devices/job_problem.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// All jobs one after the other take no longer than that, so that no sum of times overflows.
constexpr std::int64_t kLongestNs = std::numeric_limits<std::int64_t>::max() / 4;

void check_choice(const JobProblem& problem, const DeviceJob& job, const JobChoice& choice) {
  const std::int64_t devices = choice.devices;
  const bool whole = devices > problem.per_node;
  if (devices < 1 || devices > problem.devices() || (whole && devices % problem.per_node != 0)) {
    throw Error("job '" + job.name + "': " + std::to_string(devices) + " devices, expected 1 to the " +
                std::to_string(problem.per_node) + " of a node" +
                (problem.nodes > 1 ? ", or whole nodes up to all " + std::to_string(problem.nodes) : ""));
  }
  if (choice.time_ns < 1) throw Error("job '" + job.name + "': expected times above 0");
}

}  // namespace

void check_jobs(const JobProblem& problem) {
  if (problem.nodes < 1 || problem.per_node < 1) throw Error("jobs: expected at least one device");
  if (problem.jobs.empty()) throw Error("jobs: expected at least one job");
  std::int64_t left = kLongestNs;
  for (const DeviceJob& job : problem.jobs) {
    if (job.choices.empty()) throw Error("job '" + job.name + "': expected a number of devices that it can run on");
    std::int64_t longest = 0;
    for (const JobChoice& choice : job.choices) {
      check_choice(problem, job, choice);
      longest = std::max(longest, choice.time_ns);
    }
    if (longest > left) throw Error("job '" + job.name + "': its time is too long to be added to the other ones'");
    left -= longest;
  }
}

std::vector<JobChoice> useful_choices(std::vector<JobChoice> choices) {
  std::ranges::sort(choices, {}, [](const JobChoice& choice) { return std::pair(choice.devices, choice.time_ns); });
  std::vector<JobChoice> useful;
  for (const JobChoice& choice : choices) {
    if (useful.empty() || choice.time_ns < useful.back().time_ns) useful.push_back(choice);
  }
  return useful;
}

}  // namespace plumb
