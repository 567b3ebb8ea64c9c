#include "tools/claims/planner_command.hpp"

#include <algorithm>
#include <array>

#include "models/ground/error.hpp"
#include "sim/planners/planner.hpp"
#include "tools/ask/jobs_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/plan_arguments.hpp"
#include "tools/terminal/results_folder.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr double kPlannedMs = 1e6;  ///< nanoseconds

/// Where the blocks of the device that joined last begin, counted in layers.
double last_start(const Plan& plan, const PlanProblem& problem) {
  const std::int32_t last = problem.num_devices() - 1;
  for (const PlanStage& stage : plan.stages) {
    if (std::ranges::find(stage.devices, last) != stage.devices.end()) return stage.layers.front();
  }
  throw Error("plan_last_start: the last device has no layers");
}

struct PlannerMetric {
  std::string_view name;
  double (*of)(const Plan&, const PlanProblem&);
};

constexpr std::array<PlannerMetric, 7> kPlannerMetrics{{
    {"plan_cost", [](const Plan& plan, const PlanProblem&) { return plan.claimed_ns / kPlannedMs; }},
    {"plan_bound", [](const Plan& plan, const PlanProblem&) { return plan.lower_bound_ns / kPlannedMs; }},
    {"plan_rate", [](const Plan& plan, const PlanProblem&) { return 1e9 / plan.claimed_ns; }},
    {"plan_last_start", last_start},
    {"plan_first_layers",
     [](const Plan& plan, const PlanProblem&) { return static_cast<double>(plan.stages.front().layers.size()); }},
    {"plan_instances", [](const Plan& plan, const PlanProblem&) { return static_cast<double>(plan.instances); }},
    {"plan_penalty", [](const Plan& plan, const PlanProblem&) { return static_cast<double>(plan.penalty); }},
}};

/// A published planner, and what it is asked.
struct PlannerCommand {
  const Planner* planner = nullptr;
  PlanProblem problem;
};

/// What "plan --method NAME ..." asks; files below "results/" are those of the source tree. Throws `Error`.
PlannerCommand planner_command(const std::string& command) {
  PlanArguments arguments;
  std::string method;
  OptionTable parser("plan [options]", "");
  parser.text("method", method, "NAME", "");
  arguments.add_to(parser);
  if (!parse_command_line(parser, words_after("plan", command))) throw Error("'" + command + "': expected no --help");
  arguments.network = path_of_results(arguments.network);
  return {&find_planner(method), plan_problem(arguments)};
}

constexpr std::string_view kJobsMakespan = "jobs_makespan";
constexpr std::string_view kJobsShards = "jobs_shards";

}  // namespace

double planner_metric(const std::string& command, const std::string& name) {
  const auto metric = std::ranges::find(kPlannerMetrics, name, &PlannerMetric::name);
  if (metric == kPlannerMetrics.end()) throw_unknown("metric", name, planner_metrics());
  const PlannerCommand asked = planner_command(command);
  return metric->of(make_plan(*asked.planner, asked.problem), asked.problem);
}

double jobs_metric(const std::string& command, const std::string& name) {
  JobsQuestion question;
  OptionTable parser(JobsQuestion::kUsage, "");
  question.add_to(parser);
  if (!parse_command_line(parser, words_after("plan", command))) throw Error("'" + command + "': expected no --help");
  question.file = path_of_results(question.file);
  const JobsAnswer answer = question.answer();
  if (name == kJobsMakespan) {
    if (!answer.schedule.proved()) throw Error("jobs_makespan: not proved, expected fewer jobs");
    return static_cast<double>(answer.schedule.best.makespan_ns) / 1e9;
  }
  if (name != kJobsShards) throw_unknown("metric", name, jobs_metrics());
  if (!answer.shards) throw Error("jobs_shards: expected jobs with shards");
  return static_cast<double>(answer.shards->makespan_ns) / 1e6;
}

std::vector<std::string_view> jobs_metrics() { return {kJobsMakespan, kJobsShards}; }

std::vector<std::string_view> planner_metrics() {
  std::vector<std::string_view> names;
  for (const PlannerMetric& metric : kPlannerMetrics) names.push_back(metric.name);
  return names;
}

}  // namespace plumb
