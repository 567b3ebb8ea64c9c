#include "sim/shared_devices/job_schedule.hpp"

#include <algorithm>
#include <utility>

#include "sim/shared_devices/exact_jobs.hpp"
#include "sim/shared_devices/job_bound.hpp"
#include "sim/shared_devices/job_order.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kLengths = 12;

/// From the bound to the makespan that is known, choices that would be over by then, frugal ones first.
std::vector<JobOrder> frugal_orders(const JobProblem& problem, std::int64_t bound_ns, std::int64_t known_ns) {
  std::vector<JobOrder> orders;
  for (std::int64_t k = 0; k <= kLengths; ++k) {
    JobOrder order = frugal_order(problem, bound_ns + (known_ns - bound_ns) / kLengths * k);
    if (std::ranges::find(orders, order) == orders.end()) orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace

JobAnswer schedule_jobs(JobProblem problem, const JobEffort& effort) {
  check_jobs(problem);
  for (DeviceJob& job : problem.jobs) job.choices = useful_choices(std::move(job.choices));
  JobAnswer answer;
  std::vector<JobOrder> orders;
  const auto add_simple = [&](const char* name, JobOrder order) {
    answer.simple.push_back({.name = name, .schedule = placed_in_order(problem, order)});
    orders.push_back(std::move(order));
  };
  add_simple("one after another", whole_cluster_order(problem));
  add_simple("equal shares", equal_share_order(problem));
  add_simple("largest gains", marginal_gain_order(problem));
  const auto makespan = [](const SimpleJobRule& rule) { return rule.schedule.makespan_ns; };
  answer.best = std::ranges::min_element(answer.simple, {}, makespan)->schedule;
  answer.bound_ns = jobs_bound(problem, answer.best.makespan_ns);
  for (JobOrder& order : frugal_orders(problem, answer.bound_ns, answer.best.makespan_ns)) {
    orders.push_back(std::move(order));
  }
  JobSchedule improved = placed_in_order(problem, improved_order(problem, orders, effort.tries));
  if (improved.makespan_ns < answer.best.makespan_ns) answer.best = std::move(improved);
  if (answer.proved() || problem.jobs.size() > kMostExactJobs) return answer;
  ExactJobs exact = exact_jobs(problem, answer.best, effort.most_states, effort.stop);
  answer.best = std::move(exact.best);
  answer.states = exact.states;
  if (exact.complete) answer.bound_ns = answer.best.makespan_ns;
  return answer;
}

}  // namespace plumb
