#include <iostream>

#include "models/error.hpp"
#include "schedules/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/arguments.hpp"
#include "tools/command.hpp"
#include "tools/cost_arguments.hpp"
#include "tools/findings.hpp"
#include "tools/memory_limit.hpp"
#include "tools/output_file.hpp"
#include "tools/report_arguments.hpp"
#include "tools/schedule_arguments.hpp"
#include "tools/simulation_arguments.hpp"
#include "tools/terminal.hpp"
#include "tools/text_timeline.hpp"
#include "tools/timeline_text.hpp"

namespace plumb {
namespace {

/// Longer schedules are not drawn in characters: nobody could read them.
constexpr std::int64_t kMostDrawnActions = 20'000;

struct SimulateArguments {
  std::string schedule;
  ScheduleArguments size;
  CostArguments costs;
  SimulationArguments simulation;
  ReportArguments reports;
  bool peak = false;

  bool parse(const CommandLine& arguments) {
    ArgumentParser parser(
        "simulate NAME|FILE [options]",
        "Predicts what running a schedule would look like: a schedule of the catalogue, or a document.\n"
        "Exit status 3: the schedule is invalid or does not fit in memory.");
    parser.positional(schedule, "NAME|FILE");
    size.add_to(parser);
    costs.add_to(parser);
    simulation.add_to(parser);
    reports.add_to(parser);
    parser.flag("peak", peak, "list what is alive at every device's peak");
    return parser.parse(arguments);
  }
};

std::int64_t action_count(const Schedule& schedule) {
  std::int64_t count = 0;
  for (const DeviceList& list : schedule.devices) {
    const std::int64_t size = expanded_size(list);
    count = size > std::numeric_limits<std::int64_t>::max() - count ? std::numeric_limits<std::int64_t>::max()
                                                                    : count + size;
  }
  return count;
}

Timeline predict(const SimulateArguments& arguments, const Schedule& schedule, const CostInput& input, bool draw) {
  SimOptions options = arguments.simulation.simulation();
  const LowerOptions lowering = arguments.simulation.lowering();
  const bool full = draw || arguments.reports.needs_spans();
  options.peak_composition = arguments.peak;
  options.spans = full;
  options.memory_curve = full;
  Timeline timeline = full || arguments.peak
                          ? simulate(lower(schedule, input.costs, input.cluster_pointer(), lowering), options)
                          : simulate_summary(schedule, input.costs, input.cluster_pointer(), lowering, options);
  timeline.schedule = schedule.name;
  timeline.machine = input.description;
  return timeline;
}

void print_prediction(const Timeline& timeline, bool draw, bool peak) {
  std::string text = figures_text(timeline) + "\n" + devices_text(timeline);
  if (peak) text += "\n" + peaks_text(timeline);
  if (draw) text += "\n" + text_timeline(timeline, {.columns = terminal_columns(), .colour = wants_colour()});
  print(text);
}

}  // namespace

ExitStatus run_simulate(const CommandLine& command_line) {
  SimulateArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const Schedule schedule = load_schedule(arguments.schedule, arguments.size);
  if (is_schedule_file(arguments.schedule)) {
    const std::vector<Violation> violations = check_schedule(schedule);
    if (!violations.empty()) {
      std::cerr << findings_text(arguments.schedule, violations);
      return ExitStatus::kNo;
    }
  }
  const CostInput input = cost_input(arguments.costs, load_cost_documents(arguments.costs), schedule);
  if (arguments.peak && input.costs.memory.empty()) {
    throw Error("--peak: abstract costs have no tensors, expected --network or --profile");
  }
  const MemoryLimit limit = parse_memory_limit(arguments.costs.memory_limit, input.costs);
  ReportFiles files(arguments.reports);
  const bool quiet = arguments.reports.takes_standard_output();
  const bool draw = !quiet && !arguments.reports.summary && action_count(schedule) <= kMostDrawnActions;
  const Timeline timeline = predict(arguments, schedule, input, draw);
  files.write(timeline);
  if (!quiet) print_prediction(timeline, draw, arguments.peak);
  const auto findings = memory_findings(timeline, limit, input.cluster_pointer());
  for (const std::string& finding : findings) std::cerr << arguments.schedule << ": " << finding << '\n';
  return findings.empty() ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace plumb
