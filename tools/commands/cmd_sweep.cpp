#include <algorithm>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/arguments.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/order_arguments.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/options/simulation_arguments.hpp"
#include "tools/options/sweep_grid.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/sweep/sweep_pareto.hpp"
#include "tools/sweep/sweep_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/progress.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// A page with more runs could not be read.
constexpr std::size_t kMostSections = 24;

struct SweepArguments {
  std::vector<std::string> schedules;
  std::string devices;
  std::string microbatches;
  std::string chunks;
  std::optional<std::int64_t> updates;
  std::vector<std::string> options;
  CostArguments costs;
  JobRanges jobs;
  SimulationArguments simulation;
  std::optional<std::int64_t> runs;
  std::string csv;
  std::string html;

  bool parse(const CommandLine& arguments) {
    ArgumentParser parser(
        "sweep NAME... -p RANGE -m RANGE [options]",
        "Simulates schedules over ranges of sizes and lists the best choices. NAME is a built-in schedule, 'all',\n"
        "exec:FILE, a program that prints a schedule, or a schedule file of one of the sizes. A RANGE is 2,4,8 or "
        "8:64:8\n"
        "(from 8 to 64 in steps of 8). --cost takes several lists separated by semicolons, --memory-limit several\n"
        "limits separated by commas. --tp, --dp, --zero and the other degrees take ranges as well.");
    parser.positionals(schedules, 1, "NAME")
        .text("devices,p", devices, "RANGE", "pipeline devices")
        .text("microbatches,m", microbatches, "RANGE", "microbatches per update")
        .text("chunks,v", chunks, "RANGE", "stages per device (default: that of the schedule)")
        .whole("updates", updates, {}, "optimizer updates to simulate (default: that of the schedule)")
        .texts("opt", options, "KEY=VALUE", "option of the schedules; `plumbline schedules NAME` lists them")
        .whole("runs", runs, {1, 1'000'000},
               "with --jitter: simulations per point, for medians and intervals (default: 100)")
        .text("csv", csv, "FILE", "one row per simulation (- is standard output)")
        .text("html", html, "FILE", "page with the timelines of at most 24 simulations");
    costs.add_to(parser, &jobs);
    simulation.add_to(parser);
    return parser.parse(arguments);
  }

  SweepPlan plan() const {
    if (runs && !costs.jitter) throw Error("--runs: all runs are equal without --jitter, expected --jitter X");
    SweepPlan plan{.costs = costs, .simulation = simulation, .keep_timelines = !html.empty()};
    if (costs.jitter) plan.runs = runs.value_or(100);
    return plan;
  }
};

/// The parts of a list option; one empty part when it was not given.
std::vector<std::string> values_of(const std::string& list, char separator) {
  return list.empty() ? std::vector<std::string>{""} : split(list, separator);
}

std::vector<std::string> names_of(const SweepArguments& arguments) {
  std::vector<std::string> names;
  for (const std::string& name : arguments.schedules) {
    if (name == "all") {
      for (const ScheduleSpec& spec : schedule_catalogue()) names.emplace_back(spec.name);
    } else {
      if (name == "-" || !is_schedule_file(name)) schedule_named(name);
      names.push_back(name);
    }
  }
  return names;
}

std::vector<SweepPoint> points_of(const SweepArguments& arguments) {
  ScheduleParams base;
  base.updates = arguments.updates.value_or(0);
  for (const std::string& option : arguments.options) base.options.insert(parse_assignment(option, "--opt"));
  const std::vector<std::string> names = names_of(arguments);
  if (arguments.devices.empty()) throw Error("sweep: the numbers of devices are missing, expected -p RANGE");
  if (arguments.microbatches.empty()) throw Error("sweep: the numbers of microbatches are missing, expected -m RANGE");
  return sweep_grid({.schedules = names,
                     .devices = parse_range(arguments.devices, "sweep: --devices"),
                     .chunks = arguments.chunks.empty() ? std::vector<std::int64_t>{0}
                                                        : parse_range(arguments.chunks, "sweep: --chunks"),
                     .microbatches = parse_range(arguments.microbatches, "sweep: --microbatches"),
                     .costs = values_of(arguments.costs.cost, ';'),
                     .memory_limits = values_of(arguments.costs.memory_limit, ','),
                     .jobs = arguments.jobs.all()},
                    base);
}

std::string sweep_page(const std::vector<SweepResult>& results) {
  HtmlReport report{.title = "sweep", .note = {}, .sections = {}};
  for (const SweepResult& result : results) {
    if (!result.timeline) continue;
    report.sections.push_back({.title = sweep_title(result.point), .note = {}, .first = &*result.timeline});
  }
  return html_report(report);
}

/// Every point where that can be read, and the choices among them.
std::string sweep_text(const std::vector<SweepResult>& results) {
  constexpr std::size_t kMostRows = 60;
  std::string text = results.size() <= kMostRows
                         ? sweep_table(results)
                         : std::to_string(results.size()) + " simulations; --csv FILE has them all\n";
  const bool jobs = std::ranges::any_of(results, [](const SweepResult& result) { return result.point.job.any(); });
  const bool fits = std::ranges::any_of(results, [](const SweepResult& each) { return each.figures && each.fits; });
  if (results.size() > 1 && fits) {
    text += std::string("\nbest choices, from least memory to ") + (jobs ? "shortest step\n" : "least bubble\n") +
            pareto_table(results);
  }
  if (!results.front().stands_on.empty()) text += "\n" + results.front().stands_on + "\n";
  return text;
}

}  // namespace

ExitStatus run_sweep(const CommandLine& command_line) {
  SweepArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const std::vector<SweepPoint> points = points_of(arguments);
  if (!arguments.html.empty() && points.size() > kMostSections) {
    throw Error("sweep: --html: " + std::to_string(points.size()) +
                " simulations do not fit on a page, expected at most " + std::to_string(kMostSections));
  }
  check_distinct_outputs({arguments.csv, arguments.html});
  std::optional<OutputFile> csv;
  std::optional<OutputFile> html;
  if (!arguments.csv.empty()) csv.emplace(arguments.csv);
  if (!arguments.html.empty()) html.emplace(arguments.html);
  if (csv) csv->write(sweep_csv_header());
  std::vector<SweepResult> results;
  Progress progress("sweep");
  sweep_points(points, arguments.plan(), [&](SweepResult result) {
    if (csv) csv->write(sweep_csv_row(result));
    results.push_back(std::move(result));
    progress.show(static_cast<std::int64_t>(results.size()), static_cast<std::int64_t>(points.size()));
  });
  const auto failed = [](const SweepResult& result) { return !result.figures; };
  if (std::all_of(results.begin(), results.end(), failed)) throw Error(results.front().error);
  if (std::ranges::any_of(results, &SweepResult::decided_without_contention)) note_order_without_contention();
  if (html) html->finish(sweep_page(results));
  if (csv) csv->commit();
  if (arguments.csv != "-" && arguments.html != "-") print(sweep_text(results));
  return ExitStatus::kDone;
}

}  // namespace plumb
