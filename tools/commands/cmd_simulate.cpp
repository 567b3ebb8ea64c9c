#include <cmath>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "models/ground/error.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/rules/run_size.hpp"
#include "sim/simulate.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/chakra_trace.hpp"
#include "tools/formats/findings.hpp"
#include "tools/options/arguments.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/launch_arguments.hpp"
#include "tools/options/memory_limit_argument.hpp"
#include "tools/options/memory_relief.hpp"
#include "tools/options/order_arguments.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/options/simulation_arguments.hpp"
#include "tools/tables/delays_text.hpp"
#include "tools/tables/job_fit.hpp"
#include "tools/tables/launch_text.hpp"
#include "tools/tables/text_timeline.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/tables/what_if.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {
namespace {

/// Longer schedules are not drawn in characters, because the drawing would be unreadable.
constexpr std::int64_t kMostDrawnActions = 20'000;
/// The table of delays needs the whole program; longer schedules get it only with --delays.
constexpr std::int64_t kMostCountedActions = 1'000'000;

struct SimulateArguments {
  std::string schedule;
  LaunchArguments launch;
  ScheduleArguments size;
  CostArguments costs;
  SimulationArguments simulation;
  OrderArguments order;
  ReportArguments reports;
  bool peak = false;
  bool critical_path = false;
  bool delays = false;
  std::vector<std::string> what_if;
  std::string chakra;

  bool parse(const CommandLine& arguments) {
    ArgumentParser parser(
        "simulate (NAME|FILE | --job FILE) [options]",
        "Predicts the timeline, bubbles and memory of a schedule. NAME is a built-in schedule (see `plumbline\n"
        "schedules`), FILE a schedule in any format of `plumbline convert`, exec:FILE a program that prints one.\n"
        "Exit status 3: the schedule is invalid, deadlocks, or does not fit in memory.");
    std::vector<std::string> names;
    parser.positionals(names, 0, "NAME|FILE");
    launch.add_to(parser);
    size.runs_programs = true;
    size.add_to(parser);
    costs.add_to(parser);
    simulation.add_to(parser);
    order.add_to(parser);
    reports.add_to(parser);
    parser.text("chakra", chakra, "PREFIX",
                "Chakra execution traces for ASTRA-sim, one per device: PREFIX.0.et, PREFIX.1.et, ...");
    parser.group("Questions")
        .flag("peak", peak, "list the tensors that are alive when each device's memory peaks")
        .flag("critical-path", critical_path, "list what kinds of actions the critical path consists of")
        .flag("delays", delays, "list how often each stage reads weights of each age (asynchronous schedules)")
        .texts("what-if", what_if, "KIND=X",
               "predict the makespan if all actions of a kind took X times as long, such as W=0.9");
    const bool run = parser.parse(arguments);
    if (run) take_name(names);
    costs.job.take_recompute(size.recompute);
    if (!launch.any()) costs.assume_where_missing();
    return run;
  }

  void take_name(const std::vector<std::string>& names) {
    if (names.size() > 1) throw Error("simulate: '" + names[1] + "' is one argument too many, expected one schedule");
    if (!names.empty()) schedule = names.front();
    if (names.empty() && !launch.any()) {
      throw Error("simulate: NAME|FILE is missing, expected: simulate (NAME|FILE | --job FILE) [options]");
    }
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

bool counts_delays(const SimulateArguments& arguments, const Schedule& schedule) {
  if (arguments.delays) return true;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (!schedule.is_synchronous(StageId{stage})) return action_count(schedule) <= kMostCountedActions;
  }
  return false;
}

/// The result of a run of the command.
struct PredictedRun {
  Timeline timeline;
  std::string what_if;  ///< a table; empty without --what-if
};

/// Runs of many actions are announced, so that nobody wonders.
void announce(const RunSize& size) {
  constexpr double kLongSeconds = 5;
  if (size.seconds < kLongSeconds) return;
  std::cerr << "simulating " << size.actions << " actions: about "
            << time_text(static_cast<std::int64_t>(size.seconds * kNsPerSecond)) << " and " << bytes_text(size.bytes)
            << " of memory\n";
}

/// What the search wrote about the order (`add_span_bound`); nothing where the order comes from a file or is not kept.
std::optional<SearchedSpan> searched_span(const SimulateArguments& arguments, const Schedule& schedule, Timebase base) {
  const auto ticks = [&](const char* key) -> std::optional<Ticks> {
    const auto found = schedule.parameters.find(key);
    if (found == schedule.parameters.end()) return std::nullopt;
    const auto* ms = std::get_if<double>(&found->second);
    if (ms == nullptr) return std::nullopt;
    return std::llround(*ms * 1e6 * static_cast<double>(base.ticks_per_ns));
  };
  const auto found = ticks("search_span_ms");
  const auto bound = ticks("search_bound_ms");
  if (!found || !bound || is_schedule_file(arguments.schedule) || arguments.order.order != "fixed") return std::nullopt;
  return SearchedSpan{.found = *found, .bound = *bound};
}

/// A summary jumps over steady states; every other question needs the whole program.
PredictedRun predict(const SimulateArguments& arguments, const Schedule& schedule, const CostInput& input, bool draw) {
  SimOptions options = arguments.simulation.simulation(schedule);
  const LowerOptions lowering = arguments.simulation.lowering(schedule);
  const bool spans = draw || arguments.reports.needs_spans() || arguments.critical_path;
  const bool has_tensors = !input.costs.memory.empty() && input.costs.memory_units_per_one == 0;
  options.peak_composition =
      arguments.peak || (has_tensors && spans && (input.job_rates || arguments.reports.needs_spans()));
  options.spans = spans;
  options.memory_curve = spans;
  const bool delays = counts_delays(arguments, schedule);
  PredictedRun prediction;
  std::optional<Program> program;
  options.on_full_run = announce;
  if (spans || delays || arguments.peak || !arguments.what_if.empty()) {
    check_run_size(schedule, makes_transfers(input.costs, input.cluster_pointer(), lowering), options);
    options.on_full_run = nullptr;
    program = lower(schedule, input.costs, input.cluster_pointer(), lowering);
  }
  if (spans || arguments.peak || !arguments.what_if.empty()) {
    std::vector<WhatIf> changes;
    for (const std::string& text : arguments.what_if) changes.push_back(parse_what_if(text));
    prediction.timeline = simulate(*program, options);
    if (!changes.empty()) {
      prediction.what_if = what_if_text(*program, options, prediction.timeline.makespan, changes);
    }
  } else {
    prediction.timeline = simulate_summary(schedule, input.costs, input.cluster_pointer(), lowering, options);
  }
  if (delays) prediction.timeline.delays = stage_delays(schedule, *program);
  prediction.timeline.schedule = schedule.name;
  prediction.timeline.machine = input.description;
  prediction.timeline.search = searched_span(arguments, schedule, prediction.timeline.base);
  return prediction;
}

void print_prediction(const PredictedRun& prediction, const SimulateArguments& arguments, bool draw) {
  const Timeline& timeline = prediction.timeline;
  std::string text = figures_text(timeline) + "\n" + devices_text(timeline);
  if (!timeline.delays.empty()) text += "\n" + delays_text(timeline.delays);
  if (arguments.delays) text += "\n" + delay_histogram_text(timeline.delays);
  if (arguments.peak) text += "\n" + peaks_text(timeline);
  if (arguments.critical_path) text += "\n" + critical_path_text(timeline);
  if (!prediction.what_if.empty()) text += "\n" + prediction.what_if;
  if (draw) text += "\n" + text_timeline(timeline, {.columns = terminal_columns(), .colour = wants_colour()});
  print(text);
}

}  // namespace

ExitStatus run_simulate(const CommandLine& command_line) {
  SimulateArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  std::optional<LaunchJob> launched;
  if (arguments.launch.any()) {
    launched = arguments.launch.read();
    apply_launch(*launched, {arguments.schedule, arguments.size, arguments.costs, arguments.simulation});
  }
  check_schedule_name(arguments.schedule);
  const CostDocuments documents = load_cost_documents(arguments.costs);
  const auto devices = static_cast<std::int32_t>(arguments.size.devices.value_or(1));
  Schedule schedule =
      load_schedule(arguments.schedule, arguments.size, search_goal(arguments.costs, documents, devices));
  if (is_schedule_file(arguments.schedule)) {
    const std::vector<Violation> violations = check_schedule(schedule);
    if (!violations.empty()) {
      std::cerr << findings_text(arguments.schedule, violations);
      return ExitStatus::kNo;
    }
  }
  CostInput input = cost_input(arguments.costs, documents, schedule);
  arguments.simulation.take_runtime(documents);
  arguments.simulation.adapt(schedule, input);
  if (arguments.peak && input.costs.memory.empty()) {
    throw Error("--peak: abstract costs have no tensors, expected --network NAME or --profile FILE");
  }
  const MemoryLimit limit = parse_memory_limit(arguments.costs.memory_limit, input.costs);
  ReportFiles files(arguments.reports, arguments.order.save);
  const bool quiet = arguments.reports.takes_standard_output();
  const bool draw = !quiet && !arguments.reports.summary && action_count(schedule) <= kMostDrawnActions;
  if (quiet && !arguments.what_if.empty()) {
    throw Error("--what-if: prints a table, so no report can go to standard output as well");
  }
  schedule = arguments.order.resolve(std::move(schedule), input, arguments.simulation);
  PredictedRun prediction = predict(arguments, schedule, input, draw);
  if (input.job_rates) {
    fill_needs(prediction.timeline, *input.job_rates, *input.cluster, limit);
  } else {
    fill_limits(prediction.timeline, limit, input.cluster_pointer());
  }
  files.write({.steps = {&prediction.timeline, 1}});
  if (!arguments.chakra.empty()) {
    const LowerOptions lowering = arguments.simulation.lowering(schedule);
    write_chakra_traces(lower(schedule, input.costs, input.cluster_pointer(), lowering), arguments.chakra);
  }
  if (!quiet && launched) print(launch_text(*launched) + "\n");
  if (!quiet) print_prediction(prediction, arguments, draw);
  std::vector<std::string> findings;
  if (input.job_rates) {
    if (!quiet) print("\n" + fit_text(prediction.timeline, *input.job_rates, *input.cluster, limit));
    if (!quiet && launched) print("\n" + launch_notes_text(*launched));
    findings = fit_findings(prediction.timeline);
    if (!quiet && !findings.empty()) {
      const TightJob job{arguments.schedule, arguments.size, arguments.costs, documents, arguments.simulation};
      print("\n" + relief_text(memory_reliefs(job, schedule, prediction.timeline)));
    }
  } else {
    findings = memory_findings(prediction.timeline, limit, input.cluster_pointer());
  }
  for (const std::string& finding : findings) std::cerr << arguments.schedule << ": " << finding << '\n';
  return findings.empty() ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace plumb
