#include "tools/ask/sweep_question.hpp"

#include <utility>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/options/plan_runtimes.hpp"
#include "tools/options/run_options.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/sweep/sweep_table.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// The parts of a list option; one empty part when it was not given.
std::vector<std::string> values_of(const std::string& list, char separator) {
  return list.empty() ? std::vector<std::string>{""} : split(list, separator);
}

void add_schedule(const SweepQuestion& question, const std::string& name, std::vector<std::string>& names) {
  if (name == "all") {
    for (const ScheduleSpec& spec : schedule_catalogue()) {
      if (question.all || is_for_comparison(spec, question.rules.runtime)) names.emplace_back(spec.name);
    }
    return;
  }
  if (name == "-" || !is_schedule_file(name)) schedule_named(name);
  names.push_back(name);
}

/// Names stand apart or, as elsewhere, between commas; those of files may have commas.
std::vector<std::string> names_of(const SweepQuestion& question) {
  std::vector<std::string> names;
  if (question.schedules.empty()) add_schedule(question, "all", names);
  for (const std::string& given : question.schedules) {
    if (given != "-" && is_schedule_file(given)) {
      names.push_back(given);
      continue;
    }
    for (const std::string& name : split(given, ',')) add_schedule(question, name, names);
  }
  return names;
}

}  // namespace

void SweepQuestion::add_to(OptionTable& table, const FileOptions& outputs) {
  table.positionals(schedules, 0, "NAME,schedules")
      .flag("all", all, "with 'all': also asynchronous schedules, inference, and schedules that no known system runs")
      .brief()
      .text("devices,p", devices, "RANGE", "pipeline devices")
      .brief()
      .text("microbatches,m", microbatches, "RANGE", "microbatches per update")
      .brief()
      .text("chunks,v", chunks, "RANGE", "stages per device (default: as the schedule sets it)")
      .brief()
      .whole("updates", updates, {}, "optimizer updates to simulate (default: as the schedule sets it)")
      .texts("opt", options, "KEY=VALUE", "option of the schedules; `plumbline schedules NAME` lists them")
      .whole("runs", runs, {1, 1'000'000},
             "with --jitter: simulations per point, for medians and intervals (default: 100)");
  if (outputs) outputs();
  costs.add_to(table, &jobs);
  add_run_rules_to(table, rules);
}

std::vector<SweepPoint> SweepQuestion::points() {
  if (!jobs.all().front().any()) costs.assume_where_missing();
  ScheduleParams base;
  base.updates = updates.value_or(0);
  for (const std::string& option : options) base.options.insert(parse_assignment(option, "--opt"));
  const std::vector<std::string> names = names_of(*this);
  if (devices.empty()) throw Error("sweep: the numbers of devices are missing, expected -p RANGE (such as -p 4,8)");
  if (microbatches.empty())
    throw Error("sweep: the numbers of microbatches are missing, expected -m RANGE (such as -m 8,16,32)");
  return sweep_grid({.schedules = names,
                     .devices = parse_range(devices, "sweep: --devices"),
                     .chunks = chunks.empty() ? std::vector<std::int64_t>{0} : parse_range(chunks, "sweep: --chunks"),
                     .microbatches = parse_range(microbatches, "sweep: --microbatches"),
                     .costs = values_of(costs.cost, ';'),
                     .memory_limits = values_of(costs.memory_limit, ','),
                     .jobs = jobs.all()},
                    base);
}

SweepPlan SweepQuestion::plan(const std::vector<SweepPoint>& points, bool keep_timelines) const {
  if (runs && !costs.jitter) throw Error("--runs: all runs are equal without --jitter, expected --jitter X");
  SweepPlan plan{.costs = costs, .rules = rules, .keep_timelines = keep_timelines};
  if (costs.jitter) plan.runs = runs.value_or(100);
  if (points.empty()) return plan;
  CostArguments first = costs;  // the same network, cluster or profile serves all points
  first.cost = points.front().cost;
  first.job.degrees = points.front().job;
  plan.source = load_costs(first);
  return plan;
}

std::string SweepQuestion::text(const std::vector<SweepResult>& results) const {
  const std::optional<std::size_t> best = best_point(results);
  if (!best || results[*best].point.schedule == "-") return sweep_text(results);
  const SweepPoint& point = results[*best].point;
  const bool sized = is_schedule_file(point.schedule) && !is_schedule_program(point.schedule);
  std::string next = "plumbline simulate " + shell_word(point.schedule);
  if (!sized) {
    next += " -p " + std::to_string(point.params.num_devices) + " -m " + std::to_string(point.params.num_microbatches);
    if (is_given(given, "chunks")) next += " -v " + std::to_string(point.params.chunks);
  }
  if (is_given(given, "cost")) next += " --cost " + shell_word(point.cost);
  if (!point.memory_limit.empty()) next += " --memory-limit " + shell_word(point.memory_limit);
  next += point.job.options_text();
  std::vector<std::string_view> left_out{"devices", "microbatches", "chunks", "cost", "memory-limit"};
  for (const std::string_view degree : {"tp", "cp", "ep", "etp", "dp", "zero", "microbatch-size", "recompute"}) {
    left_out.push_back(degree);
  }
  if (sized) left_out.push_back("opt");
  return sweep_text(results) + next_text(next + carried_to_simulate(given, left_out));
}

void SweepQuestion::add_parts(const Request& request, AnswerDocument& document) {
  for (const std::string& name : schedules) {
    if (is_schedule_program(name)) throw Error(name + ": a request runs no programs, expected a name or a file");
  }
  const std::vector<SweepPoint> grid = points();
  std::vector<SweepResult> results;
  sweep_points(grid, plan(grid, false), [&](SweepResult result) { results.push_back(std::move(result)); });
  check_sweep(results);
  std::string csv(sweep_csv_header());
  for (const SweepResult& result : results) csv += sweep_csv_row(result);
  if (request.wants("csv")) document.add_text("csv", csv);
  if (request.wants("text")) document.add_text("text", text(results));
}

}  // namespace plumb
