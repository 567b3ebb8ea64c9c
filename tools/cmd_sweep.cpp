#include <algorithm>
#include <mutex>

#include <tbb/parallel_for.h>

#include "models/error.hpp"
#include "schedules/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/arguments.hpp"
#include "tools/command.hpp"
#include "tools/cost_arguments.hpp"
#include "tools/memory_limit.hpp"
#include "tools/output_file.hpp"
#include "tools/progress.hpp"
#include "tools/report_html.hpp"
#include "tools/schedule_arguments.hpp"
#include "tools/simulation_arguments.hpp"
#include "tools/sweep_grid.hpp"
#include "tools/sweep_table.hpp"

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
  SimulationArguments simulation;
  std::string csv;
  std::string html;

  bool parse(const CommandLine& arguments) {
    ArgumentParser parser("sweep NAME... -p RANGE -m RANGE [options]",
                          "Simulates schedules over ranges of sizes, several at a time. A RANGE is 2,4,8 or 8:64:8.");
    parser.positionals(schedules, 1, "NAME")
        .text("devices,p", devices, "RANGE", "pipeline devices")
        .text("microbatches,m", microbatches, "RANGE", "microbatches per update")
        .text("chunks,v", chunks, "RANGE", "stages per device (default: the schedule's)")
        .whole("updates", updates, {}, "optimizer updates to cover (default: the schedule's)")
        .texts("opt", options, "KEY=VALUE", "option of the schedules")
        .text("csv", csv, "FILE", "one row per simulation (- is standard output)")
        .text("html", html, "FILE", "one page with the timelines, at most 24");
    costs.add_to(parser);
    simulation.add_to(parser);
    return parser.parse(arguments);
  }
};

std::vector<SweepPoint> points_of(const SweepArguments& arguments) {
  ScheduleParams base;
  base.updates = arguments.updates.value_or(0);
  for (const std::string& option : arguments.options) base.options.insert(parse_assignment(option, "--opt"));
  if (arguments.devices.empty()) throw Error("sweep: the numbers of devices are missing, expected -p RANGE");
  if (arguments.microbatches.empty()) throw Error("sweep: the numbers of microbatches are missing, expected -m RANGE");
  for (const std::string& name : arguments.schedules) check_schedule_name(name);
  return sweep_grid({.schedules = arguments.schedules,
                     .devices = parse_range(arguments.devices, "sweep: --devices"),
                     .chunks = arguments.chunks.empty() ? std::vector<std::int64_t>{0}
                                                        : parse_range(arguments.chunks, "sweep: --chunks"),
                     .microbatches = parse_range(arguments.microbatches, "sweep: --microbatches")},
                    base);
}

/// What the schedule's default came to.
std::int32_t chunks_of(const Schedule& schedule) {
  const auto found = schedule.parameters.find("v");
  if (found == schedule.parameters.end()) return 1;
  return static_cast<std::int32_t>(std::get<std::int64_t>(found->second));
}

SweepResult simulate_point(const SweepPoint& point, const SweepArguments& arguments, const CostDocuments& documents) {
  SweepResult result;
  result.point = point;
  try {
    const Schedule schedule = generate(point.schedule, point.params);
    result.point.params.chunks = chunks_of(schedule);
    const CostInput input = cost_input(arguments.costs, documents, schedule);
    SimOptions options = arguments.simulation.simulation();
    const bool full = !arguments.html.empty();
    options.spans = full;
    options.memory_curve = full;
    const LowerOptions lowering = arguments.simulation.lowering();
    result.timeline = full ? simulate(lower(schedule, input.costs, input.cluster_pointer(), lowering), options)
                           : simulate_summary(schedule, input.costs, input.cluster_pointer(), lowering, options);
    result.timeline->schedule = schedule.name;
    result.timeline->machine = input.description;
    const MemoryLimit limit = parse_memory_limit(arguments.costs.memory_limit, input.costs);
    result.fits = memory_findings(*result.timeline, limit, input.cluster_pointer()).empty();
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

std::vector<SweepResult> simulate_all(const std::vector<SweepPoint>& points, const SweepArguments& arguments) {
  const CostDocuments documents = load_cost_documents(arguments.costs);
  std::vector<SweepResult> results(points.size());
  Progress progress("sweep");
  std::mutex mutex;
  std::int64_t done = 0;
  tbb::parallel_for(std::size_t{0}, points.size(), [&](std::size_t i) {
    results[i] = simulate_point(points[i], arguments, documents);
    const std::lock_guard lock(mutex);
    progress.show(++done, static_cast<std::int64_t>(points.size()));
  });
  return results;
}

std::string sweep_page(const std::vector<SweepResult>& results) {
  HtmlReport report{.title = "sweep", .note = {}, .sections = {}};
  for (const SweepResult& result : results) {
    if (!result.timeline) continue;
    report.sections.push_back({.title = sweep_title(result.point), .note = {}, .first = &*result.timeline});
  }
  return html_report(report);
}

}  // namespace

ExitStatus run_sweep(const CommandLine& command_line) {
  SweepArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const std::vector<SweepPoint> points = points_of(arguments);
  if (!arguments.html.empty() && points.size() > kMostSections) {
    throw Error("sweep: --html: " + std::to_string(points.size()) + " runs do not fit on a page, expected at most " +
                std::to_string(kMostSections));
  }
  std::optional<OutputFile> csv;
  std::optional<OutputFile> html;
  if (!arguments.csv.empty()) csv.emplace(arguments.csv);
  if (!arguments.html.empty()) html.emplace(arguments.html);
  const std::vector<SweepResult> results = simulate_all(points, arguments);
  const auto failed = [](const SweepResult& result) { return !result.timeline; };
  if (std::all_of(results.begin(), results.end(), failed)) throw Error(results.front().error);
  if (html) html->finish(sweep_page(results));
  if (csv) csv->finish(sweep_csv(results));
  if (arguments.csv != "-" && arguments.html != "-") print(sweep_table(results));
  return ExitStatus::kDone;
}

}  // namespace plumb
