#include "sim/shared_devices/job_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "sim/shared_devices/exact_jobs.hpp"
#include "sim/shared_devices/job_bound.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

using Rows = std::vector<std::vector<JobChoice>>;

JobProblem jobs_on(std::int64_t nodes, std::int64_t per_node, const Rows& rows) {
  JobProblem problem{.nodes = nodes, .per_node = per_node, .jobs = {}};
  for (const auto& row : rows) {
    problem.jobs.push_back({.name = "job" + std::to_string(problem.jobs.size()), .choices = row});
  }
  return problem;
}

/// Every job where it is, on devices that nobody else has meanwhile, of one node or whole nodes.
void check_places(const JobProblem& problem, const JobSchedule& schedule) {
  std::int64_t last = 0;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> used(static_cast<std::size_t>(problem.devices()));
  for (std::size_t job = 0; job < problem.jobs.size(); ++job) {
    const JobPlace& place = schedule.places[job];
    CHECK(std::ranges::count(problem.jobs[job].choices, place.choice) > 0);
    CHECK(place.end_ns - place.start_ns == place.choice.time_ns);
    CHECK(static_cast<std::int64_t>(place.devices.size()) == place.choice.devices);
    std::vector<std::int64_t> nodes;
    for (const std::int32_t device : place.devices) {
      nodes.push_back(device / problem.per_node);
      for (const auto& [start, end] : used[static_cast<std::size_t>(device)]) {
        CHECK((place.start_ns >= end || place.end_ns <= start));
      }
      used[static_cast<std::size_t>(device)].emplace_back(place.start_ns, place.end_ns);
    }
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    CHECK(std::ssize(nodes) == (place.choice.devices + problem.per_node - 1) / problem.per_node);
    last = std::max(last, place.end_ns);
  }
  CHECK(last == schedule.makespan_ns);
}

/// The shortest makespan, by trying everything: which job comes next, how, on which devices of which node.
std::int64_t tried(const JobProblem& problem, std::vector<bool>& done, std::vector<std::int64_t>& free) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  bool any = false;
  const auto devices = static_cast<std::uint32_t>(problem.devices());
  for (std::size_t job = 0; job < done.size(); ++job) {
    if (done[job]) continue;
    any = true;
    for (const JobChoice& choice : problem.jobs[job].choices) {
      for (std::uint32_t set = 1; set < (1U << devices); ++set) {
        std::int64_t count = 0;
        std::int64_t start = 0;
        std::vector<std::int64_t> on(static_cast<std::size_t>(problem.nodes));
        for (std::uint32_t device = 0; device < devices; ++device) {
          if (((set >> device) & 1U) == 0) continue;
          ++count;
          ++on[device / static_cast<std::uint32_t>(problem.per_node)];
          start = std::max(start, free[device]);
        }
        const auto nodes = std::ranges::count_if(on, [](std::int64_t held) { return held > 0; });
        if (count != choice.devices || nodes != (count + problem.per_node - 1) / problem.per_node) continue;
        std::vector<std::int64_t> then = free;
        for (std::uint32_t device = 0; device < devices; ++device) {
          if (((set >> device) & 1U) != 0) then[device] = start + choice.time_ns;
        }
        done[job] = true;
        best = std::min(best, tried(problem, done, then));
        done[job] = false;
      }
    }
  }
  return any ? best : std::ranges::max(free);
}

std::int64_t shortest(const JobProblem& problem) {
  std::vector<bool> done(problem.jobs.size());
  std::vector<std::int64_t> free(static_cast<std::size_t>(problem.devices()));
  return tried(problem, done, free);
}

JobProblem drawn(std::mt19937& random, std::int64_t nodes, std::int64_t per_node, std::size_t count) {
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  Rows rows;
  while (rows.size() < count) {
    std::vector<JobChoice>& row = rows.emplace_back();
    for (std::int64_t devices = 1; devices <= per_node; ++devices) {
      if (below(3) > 0) row.push_back({devices, 5 + below(40) / devices});
    }
    if (nodes > 1 && below(2) == 0) row.push_back({nodes * per_node, 3 + below(10)});
    if (row.empty()) row.push_back({per_node, 5 + below(10)});
  }
  return jobs_on(nodes, per_node, rows);
}

}  // namespace

TEST_CASE("the schedule of a few jobs is as short as the shortest of all that can be tried") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const bool two = round % 3 == 0;
    const JobProblem problem = drawn(random, two ? 2 : 1, two ? 2 : 3, two ? 3 : 4);
    const JobAnswer answer = schedule_jobs(problem, {.tries = 50});
    CAPTURE(round);
    CHECK(answer.best.makespan_ns == shortest(problem));
    CHECK(answer.proved());
    check_places(problem, answer.best);
  }
}

TEST_CASE("the exact search finds the shortest schedule from the longest one, and bounds are below it") {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    const JobProblem problem = drawn(random, 1 + round % 2, 2, 4);
    JobSchedule long_one;
    long_one.makespan_ns = 10'000;
    const ExactJobs exact = exact_jobs(problem, long_one, 1'000'000);
    CAPTURE(round);
    REQUIRE(exact.complete);
    CHECK(exact.best.makespan_ns == shortest(problem));
    check_places(problem, exact.best);
    CHECK(jobs_bound(problem, 10'000) <= exact.best.makespan_ns);
  }
}

TEST_CASE("a bound that weighs wide jobs more proves what the sum of the work does not") {
  // Three jobs of 5 of 8 devices cannot run beside each other: 30, though their work fills the devices in 18.75.
  const JobProblem problem = jobs_on(1, 8, {{{5, 10}}, {{5, 10}}, {{5, 10}}});
  CHECK(jobs_bound(problem, 1000) == 30);
  const JobAnswer answer = schedule_jobs(problem);
  CHECK(answer.best.makespan_ns == 30);
  CHECK(answer.states == 0);
}

TEST_CASE("schedules of many jobs are no longer than any simple rule, and not far above the bound") {
  std::mt19937 random(3);
  const JobProblem problem = drawn(random, 4, 8, 60);
  const JobAnswer answer = schedule_jobs(problem, {.tries = 4000, .most_states = 2000});
  check_places(problem, answer.best);
  for (const SimpleJobRule& rule : answer.simple) {
    check_places(problem, rule.schedule);
    CHECK(answer.best.makespan_ns <= rule.schedule.makespan_ns);
  }
  CHECK(answer.bound_ns <= answer.best.makespan_ns);
  CHECK(answer.gap() < 0.2);
  const JobAnswer again = schedule_jobs(problem, {.tries = 4000, .most_states = 2000});
  CHECK(again.best.makespan_ns == answer.best.makespan_ns);
}

TEST_CASE("jobs that take three times as long get the same devices for three times the time, by the same search") {
  std::mt19937 random(8);
  for (const std::size_t count : {5, 20}) {
    const JobProblem one = drawn(random, 2, 4, count);
    JobProblem three = one;
    for (DeviceJob& job : three.jobs) {
      for (JobChoice& choice : job.choices) choice.time_ns *= 3;
    }
    const JobEffort effort{.tries = 300, .most_states = 500};
    const JobAnswer short_answer = schedule_jobs(one, effort);
    const JobAnswer long_answer = schedule_jobs(three, effort);
    CHECK(long_answer.best.makespan_ns == 3 * short_answer.best.makespan_ns);
    CHECK(long_answer.states == short_answer.states);
    for (std::size_t job = 0; job < count; ++job) {
      CHECK(long_answer.best.places[job].devices == short_answer.best.places[job].devices);
      CHECK(long_answer.best.places[job].start_ns == 3 * short_answer.best.places[job].start_ns);
    }
    for (std::size_t rule = 0; rule < 3; ++rule) {
      CHECK(long_answer.simple[rule].schedule.makespan_ns == 3 * short_answer.simple[rule].schedule.makespan_ns);
    }
  }
}

TEST_CASE("simple rules: all devices in turn, equal shares, and devices to whom they save most") {
  const JobProblem problem = jobs_on(1, 4, {{{1, 100}, {2, 60}, {4, 40}}, {{1, 90}, {2, 80}, {4, 70}}});
  const JobAnswer answer = schedule_jobs(problem);
  CHECK(answer.simple[0].schedule.makespan_ns == 110);
  CHECK(answer.simple[1].schedule.makespan_ns == 80);
  // Of the two devices that are left the first job gets one (40 less); two more are not there, so the second gets one.
  CHECK(answer.simple[2].schedule.makespan_ns == 80);
  CHECK(answer.best.makespan_ns == 80);
}

TEST_CASE("without a search jobs also get the choice that takes the least time of devices") {
  // On two devices each: 8, two at a time. No simple rule gives that.
  const std::vector<JobChoice> choices{{1, 10}, {2, 4}, {4, 3}};
  const JobAnswer answer = schedule_jobs(jobs_on(1, 4, {choices, choices, choices}), {.tries = 0, .most_states = 0});
  for (const SimpleJobRule& rule : answer.simple) CHECK(rule.schedule.makespan_ns > 8);
  CHECK(answer.best.makespan_ns == 8);
}

TEST_CASE("the exact search opens no more states than there are shares of jobs among two devices") {
  for (const std::int64_t count : {6, 8, 9}) {
    Rows rows;
    std::int64_t shares = 1;
    for (std::int64_t job = 0; job < count; ++job) {
      rows.push_back({{1, 100 + 3 * job}});
      shares *= 3;  // begun on one of them, or left
    }
    const JobProblem problem = jobs_on(1, 2, rows);
    JobSchedule long_one;
    long_one.makespan_ns = 10'000;
    const ExactJobs exact = exact_jobs(problem, long_one, 10'000'000);
    CAPTURE(count);
    CHECK(exact.complete);
    CHECK(exact.states <= count * shares);
  }
}

TEST_CASE("choices that cost more devices and no less time are left out") {
  CHECK(useful_choices({{4, 30}, {1, 100}, {2, 100}, {2, 50}, {8, 30}}) ==
        std::vector<JobChoice>{{1, 100}, {2, 50}, {4, 30}});
}

TEST_CASE("jobs that the devices have no room for are refused") {
  CHECK(error_message([] {
          schedule_jobs(jobs_on(2, 4, {{{6, 10}}}));
        }) == "job 'job0': 6 devices, expected 1 to the 4 of a node, or whole nodes up to all 2");
  CHECK(error_message([] { schedule_jobs(jobs_on(1, 4, {{}})); }) ==
        "job 'job0': expected a number of devices that it can run on");
  CHECK(error_message([] { schedule_jobs(jobs_on(1, 4, {{{1, 0}}})); }) == "job 'job0': expected times above 0");
  CHECK(error_message([] { schedule_jobs(jobs_on(1, 4, {})); }) == "jobs: expected at least one job");
}

}  // namespace plumb::testing

TEST_SUITE_END();
