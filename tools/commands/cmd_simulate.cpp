#include <iostream>
#include <optional>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/chakra_trace.hpp"
#include "tools/formats/findings.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/tables/delays_text.hpp"
#include "tools/tables/job_fit.hpp"
#include "tools/tables/launch_text.hpp"
#include "tools/tables/text_timeline.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {
namespace {

/// Longer schedules are not drawn in characters, because the drawing would be unreadable.
constexpr std::int64_t kMostDrawnActions = 20'000;

struct SimulateArguments {
  SimulateQuestion question;
  std::string save_order;
  ReportArguments reports;
  std::string chakra;

  bool parse(const CommandLine& arguments) {
    OptionTable options(
        "simulate (NAME|FILE | --job FILE) [options]",
        "Predicts the timeline, bubbles and memory of a schedule. NAME is a built-in schedule (see `plumbline\n"
        "schedules`), FILE a schedule in any format of `plumbline convert`, exec:FILE a program that prints one.\n"
        "Exit status 3: the schedule is invalid, deadlocks, or does not fit in memory.");
    question.size.runs_programs = true;
    question.add_job_to(options);
    options.text("save-order", save_order, "FILE", "write the resulting order as a schedule document");
    reports.add_to(options);
    options.text("chakra", chakra, "PREFIX",
                 "Chakra execution traces for ASTRA-sim, one per device: PREFIX.0.et, PREFIX.1.et, ...");
    question.add_questions_to(options);
    return parse_command_line(options, arguments);
  }
};

void print_prediction(const PredictedJob& job, const SimulateQuestion& question, bool draw) {
  const Timeline& timeline = job.timeline;
  std::string text = figures_text(timeline) + "\n" + devices_text(timeline);
  if (!timeline.delays.empty()) text += "\n" + delays_text(timeline.delays);
  if (question.delays) text += "\n" + delay_histogram_text(timeline.delays);
  if (question.peak) text += "\n" + peaks_text(timeline);
  if (question.critical_path) text += "\n" + critical_path_text(timeline);
  if (!job.what_if.empty()) text += "\n" + job.what_if;
  if (draw) text += "\n" + text_timeline(timeline, {.columns = terminal_columns(), .colour = wants_colour()});
  if (job.launched) text = launch_text(*job.launched) + "\n" + text;
  if (job.input.job_rates) {
    text += "\n" + fit_text(timeline, *job.input.job_rates, *job.input.cluster, job.limit);
    if (job.launched) text += "\n" + launch_notes_text(*job.launched);
    if (!job.relief.empty()) text += "\n" + job.relief;
  }
  print(text);
}

}  // namespace

ExitStatus run_simulate(const CommandLine& command_line) {
  SimulateArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  PreparedJob prepared(arguments.question);
  if (!prepared.violations().empty()) {
    note_findings(prepared.name(), prepared.violations());
    return ExitStatus::kNo;
  }
  ReportFiles files(arguments.reports, arguments.save_order);
  const bool quiet = arguments.reports.takes_standard_output();
  const bool draw = !quiet && !arguments.reports.summary && action_count(prepared.schedule()) <= kMostDrawnActions;
  if (quiet && !arguments.question.what_if.empty()) {
    throw Error("--what-if: prints a table, so no report can go to standard output as well");
  }
  std::optional<OutputFile> order_file = arguments.question.order.file_for(prepared.schedule(), arguments.save_order);
  const PredictedJob job = prepared.predict({.spans = draw, .reports = arguments.reports.needs_spans()});
  if (order_file) order_file->finish(schedule_to_json(job.schedule));
  files.write({.steps = {&job.timeline, 1}});
  if (!arguments.chakra.empty()) {
    write_chakra_traces(
        lower(job.schedule, job.input.costs, job.input.cluster_pointer(), prepared.simulation().lowering(job.schedule)),
        arguments.chakra);
  }
  if (!quiet) print_prediction(job, arguments.question, draw);
  for (const std::string& finding : job.findings) std::cerr << job.name << ": " << finding << '\n';
  return job.findings.empty() ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace plumb
