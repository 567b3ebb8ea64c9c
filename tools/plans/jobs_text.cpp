#include <algorithm>
#include <numeric>

#include "tools/plans/jobs_answer.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr double kMinuteNs = 60e9;

std::string counted(std::int64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string times_longer(std::int64_t ns, std::int64_t best_ns) {
  return duration_text(ns) + ", " + fixed_text(static_cast<double>(ns) / static_cast<double>(best_ns), 2) + " times";
}

std::string bound_text(const JobAnswer& schedule) {
  if (schedule.proved()) return "equal: no schedule of these plans is shorter";
  return duration_text(schedule.bound_ns) + ": no schedule of these plans is shorter by more than " +
         percent_text(schedule.gap());
}

/// By start, then by device.
std::vector<std::size_t> jobs_by_start(const JobSchedule& schedule) {
  std::vector<std::size_t> jobs(schedule.places.size());
  std::iota(jobs.begin(), jobs.end(), std::size_t{0});
  std::ranges::stable_sort(jobs, {}, [&](std::size_t job) {
    return std::pair(schedule.places[job].start_ns, schedule.places[job].devices.front());
  });
  return jobs;
}

}  // namespace

const JobPlan& JobsAnswer::chosen(std::size_t job) const {
  return *std::ranges::find(plans[job], schedule.best.places[job].choice, &JobPlan::choice);
}

std::string device_ranges(const std::vector<std::int32_t>& devices) {
  std::string text;
  for (std::size_t first = 0; first < devices.size();) {
    std::size_t last = first;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) ++last;
    text += (text.empty() ? "" : " ") + std::to_string(devices[first]);
    if (last > first) text += "-" + std::to_string(devices[last]);
    first = last + 1;
  }
  return text;
}

std::string duration_text(std::int64_t ns) {
  if (ns == 0) return "0 s";
  const auto time = static_cast<double>(ns);
  if (time >= 120 * kMinuteNs) return number_text(time / (60 * kMinuteNs)) + " h";
  return time >= 2 * kMinuteNs ? number_text(time / kMinuteNs) + " min" : time_text(ns);
}

std::string jobs_text(const JobsAnswer& answer) {
  const JobSchedule& best = answer.schedule.best;
  std::string text = counted(static_cast<std::int64_t>(answer.problem.jobs.size()), "job") + " on " +
                     (answer.cluster.empty() ? "" : answer.cluster + ": ") + counted(answer.problem.nodes, "node") +
                     " of " + counted(answer.problem.per_node, "device") + "\n\n";
  TextTable table({{"job"}, {"devices", '>'}, {"which"}, {"start", '>'}, {"end", '>'}, {"plan"}});
  std::string commands;
  for (const std::size_t job : jobs_by_start(best)) {
    const JobPlace& place = best.places[job];
    const JobPlan& plan = answer.chosen(job);
    table.add_row({answer.problem.jobs[job].name, std::to_string(place.choice.devices), device_ranges(place.devices),
                   duration_text(place.start_ns), duration_text(place.end_ns), plan.plan});
    if (!plan.command.empty()) commands += "  " + plan.command + "  # " + answer.problem.jobs[job].name + "\n";
  }
  table.leave_out_empty_columns();
  text += table.to_string() + "\n";
  TextTable figures({{""}, {""}});
  figures.add_row({"all done after", duration_text(best.makespan_ns)});
  figures.add_row({"lower bound", bound_text(answer.schedule)});
  for (const SimpleJobRule& rule : answer.schedule.simple) {
    figures.add_row({rule.name, times_longer(rule.schedule.makespan_ns, best.makespan_ns)});
  }
  if (answer.shards) {
    figures.add_row({"shard by shard", times_longer(answer.shards->makespan_ns, best.makespan_ns) + " (its bound " +
                                           duration_text(answer.shards->bound_ns) + ")"});
  }
  const std::string lines = figures.to_string();
  text += lines.substr(lines.find('\n') + 1);
  return commands.empty() ? text : text + "\nsimulate:\n" + commands;
}

}  // namespace plumb
