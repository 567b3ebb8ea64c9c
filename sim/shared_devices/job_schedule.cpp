#include "sim/shared_devices/job_schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <utility>

#include "sim/shared_devices/exact_jobs.hpp"
#include "sim/shared_devices/free_devices.hpp"
#include "sim/shared_devices/job_bound.hpp"

namespace plumb {
namespace {

/// Jobs in a row, each with one of its choices.
struct JobOrder {
  std::vector<std::size_t> jobs;    ///< every job once
  std::vector<std::size_t> choice;  ///< by job

  friend bool operator==(const JobOrder&, const JobOrder&) = default;
};

JobOrder order_of(const JobProblem& problem) {
  JobOrder order{.jobs = std::vector<std::size_t>(problem.jobs.size()),
                 .choice = std::vector<std::size_t>(problem.jobs.size())};
  std::iota(order.jobs.begin(), order.jobs.end(), std::size_t{0});
  return order;
}

/// The order in which the longest job comes first.
void longest_first(const JobProblem& problem, JobOrder& order) {
  const auto time = [&](std::size_t job) { return problem.jobs[job].choices[order.choice[job]].time_ns; };
  std::ranges::stable_sort(order.jobs, std::greater<>{}, time);
}

/// `choose(choices)` says which of a job's choices, which are sorted by devices.
template <class Choose>
JobOrder chosen_order(const JobProblem& problem, const Choose& choose) {
  JobOrder order = order_of(problem);
  for (std::size_t job = 0; job < problem.jobs.size(); ++job) order.choice[job] = choose(problem.jobs[job].choices);
  longest_first(problem, order);
  return order;
}

/// When all is done, and then how early the jobs are done on the whole.
struct ListScore {
  std::int64_t makespan = 0;
  double ends = 0;

  friend auto operator<=>(const ListScore&, const ListScore&) = default;
};

ListScore score_of(const JobProblem& problem, const JobOrder& order) {
  FreeDevices free(problem.nodes, problem.per_node);
  ListScore score;
  for (const std::size_t job : order.jobs) {
    const JobChoice& choice = problem.jobs[job].choices[order.choice[job]];
    const JobPlace placed = free.place(choice, free.best_node(choice, 0), 0);
    score.makespan = std::max(score.makespan, placed.end_ns);
    score.ends += static_cast<double>(placed.end_ns);
  }
  return score;
}

/// One walk through neighbours.
class OrderWalk {
 public:
  OrderWalk(const JobProblem& problem, JobOrder order, std::uint64_t seed)
      : problem_(&problem), random_(seed), best_(std::move(order)), score_(score_of(problem, best_)) {}

  void walk(std::int64_t tries) {
    for (; tries > 0; --tries) {
      JobOrder next = best_;
      const std::uint64_t changes = 1 + below(2);
      for (std::uint64_t k = 0; k < changes; ++k) change(next);
      const ListScore score = score_of(*problem_, next);
      if (score_ < score) continue;
      best_ = std::move(next);
      score_ = score;
    }
  }

  const JobOrder& best() const { return best_; }
  const ListScore& score() const { return score_; }

 private:
  std::uint64_t below(std::uint64_t count) { return random_() % count; }

  void change(JobOrder& order) {
    const std::size_t at = below(order.jobs.size());
    const std::size_t other = below(order.jobs.size());
    switch (below(3)) {
      case 0:
        order.choice[order.jobs[at]] = below(problem_->jobs[order.jobs[at]].choices.size());
        break;
      case 1:
        std::swap(order.jobs[at], order.jobs[other]);
        break;
      default: {
        const std::size_t job = order.jobs[at];
        order.jobs.erase(order.jobs.begin() + static_cast<std::ptrdiff_t>(at));
        order.jobs.insert(order.jobs.begin() + static_cast<std::ptrdiff_t>(other), job);
      }
    }
  }

  const JobProblem* problem_;
  std::mt19937_64 random_;
  JobOrder best_;
  ListScore score_;
};

/// Jobs in the order given, each where it can start first, behind the jobs before it: a list schedule.
JobSchedule placed_in_order(const JobProblem& problem, const JobOrder& order) {
  FreeDevices free(problem.nodes, problem.per_node);
  JobSchedule schedule{.places = std::vector<JobPlace>(problem.jobs.size()), .makespan_ns = 0};
  for (const std::size_t job : order.jobs) {
    const JobChoice& choice = problem.jobs[job].choices[order.choice[job]];
    schedule.places[job] = free.place(choice, free.best_node(choice, 0), 0);
  }
  schedule.makespan_ns = free.last();
  return schedule;
}

/// Takes, for every job, the choice with the least time of devices among those of at most `most_ns`, or the shortest;
/// the longest job first.
JobOrder frugal_order(const JobProblem& problem, std::int64_t most_ns) {
  return chosen_order(problem, [most_ns](const std::vector<JobChoice>& choices) {
    std::size_t best = choices.size() - 1;
    double least = 0;
    bool any = false;
    for (std::size_t k = 0; k < choices.size(); ++k) {
      if (choices[k].time_ns > most_ns) continue;
      const double area = static_cast<double>(choices[k].devices) * static_cast<double>(choices[k].time_ns);
      if (any && area >= least) continue;
      best = k;
      least = area;
      any = true;
    }
    return best;
  });
}

/// Returns all jobs on as many devices as they can use, one after the other where that is all of them.
JobOrder whole_cluster_order(const JobProblem& problem) {
  return chosen_order(problem, [](const std::vector<JobChoice>& choices) { return choices.size() - 1; });
}

/// Returns every job on no more than an equal share of the devices, or on as few as it runs on.
JobOrder equal_share_order(const JobProblem& problem) {
  const std::int64_t share = problem.devices() / static_cast<std::int64_t>(problem.jobs.size());
  return chosen_order(problem, [share](const std::vector<JobChoice>& choices) {
    const auto within = [share](const JobChoice& choice) { return choice.devices <= share; };
    const auto last = std::ranges::find_if_not(choices, within);
    return last == choices.begin() ? 0 : static_cast<std::size_t>(last - choices.begin()) - 1;
  });
}

/// Returns every job on as few devices as it runs on; then the one that gets the most time shorter for every further
/// device gets them, as long as there are any (Optimus, Peng et al., EuroSys 2018).
JobOrder marginal_gain_order(const JobProblem& problem) {
  JobOrder order = order_of(problem);
  std::int64_t left = problem.devices();
  for (const DeviceJob& job : problem.jobs) left -= job.choices.front().devices;
  for (bool any = true; any;) {
    any = false;
    std::size_t gains = 0;
    double most = 0;
    for (std::size_t job = 0; job < problem.jobs.size(); ++job) {
      const std::vector<JobChoice>& choices = problem.jobs[job].choices;
      const std::size_t now = order.choice[job];
      if (now + 1 == choices.size()) continue;
      const std::int64_t more = choices[now + 1].devices - choices[now].devices;
      const double gain =
          static_cast<double>(choices[now].time_ns - choices[now + 1].time_ns) / static_cast<double>(more);
      if (more > left || (any && gain <= most)) continue;
      gains = job;
      most = gain;
      any = true;
    }
    if (!any) break;
    const std::vector<JobChoice>& choices = problem.jobs[gains].choices;
    const std::size_t next = ++order.choice[gains];
    left -= choices[next].devices - choices[next - 1].devices;
  }
  longest_first(problem, order);
  return order;
}

/// Changes choices and places in the row while that is no worse, from each of `orders`, with so many `tries` in all.
/// Same input, same answer.
JobOrder improved_order(const JobProblem& problem, const std::vector<JobOrder>& orders, std::int64_t tries) {
  std::vector<OrderWalk> walks;
  for (const JobOrder& order : orders) walks.emplace_back(problem, order, walks.size() + 1);
  // Half of the tries for all, then the better half of them with half of what is left, down to one.
  for (std::int64_t share = tries / 2; walks.size() > 1; share = share / 2) {
    for (OrderWalk& walk : walks) walk.walk(share / static_cast<std::int64_t>(walks.size()));
    std::ranges::stable_sort(walks, {}, &OrderWalk::score);
    walks.erase(walks.begin() + static_cast<std::ptrdiff_t>((walks.size() + 1) / 2), walks.end());
  }
  walks.front().walk(tries / 4);
  return walks.front().best();
}

constexpr std::int64_t kLengths = 12;

/// Lists frugal choices that would be over by times from the bound to the known makespan.
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
