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
#include "tools/options/run_options.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {

ExitStatus run_simulate(const CommandLine& arguments) {
  OptionTable options(
      SimulateQuestion::kUsage,
      "Predicts the timeline, bubbles and memory of a schedule. NAME is a built-in schedule (see `plumbline\n"
      "schedules`), FILE a schedule in any format of `plumbline convert`, exec:FILE a program that prints one.\n"
      "Exit status 3: the schedule is invalid, deadlocks, or does not fit in memory.");
  SimulateQuestion question;
  std::string save_order;
  ReportArguments reports;
  std::string chakra;
  question.size.runs_programs = true;
  question.add_to(options, [&] {
    options.text("save-order", save_order, "FILE", "write the resulting order as a schedule document");
    reports.add_to(options);
    options.text("chakra", chakra, "PREFIX",
                 "Chakra execution traces for ASTRA-sim, one per device: PREFIX.0.et, PREFIX.1.et, ...");
  });
  if (!parse_command_line(options, arguments)) return ExitStatus::kDone;
  question.given = options.given();
  PreparedJob job(question);
  if (!job.violations.empty()) {
    note_findings(job.name, job.violations);
    return ExitStatus::kNo;
  }
  reports.check_size(job.run.schedule);
  ReportFiles files(reports, save_order);
  const bool quiet = reports.takes_standard_output();
  const bool draw = !quiet && !reports.summary && is_drawn(job.run.schedule);
  if (quiet && !question.what_if.empty()) {
    throw Error("--what-if: prints a table, so no report can go to standard output as well");
  }
  std::optional<OutputFile> saved = order_file(job.run.schedule, question.order, save_order);
  job.predict({.spans = draw, .reports = reports.needs_spans(), .tables = !quiet});
  if (saved) saved->finish(schedule_to_json(job.run.schedule));
  files.write({.steps = {&job.timeline, 1}});
  if (!chakra.empty()) write_chakra_traces(program_of(job.run), chakra);
  const TextTimelineOptions drawing{.columns = terminal_columns(), .colour = wants_colour()};
  if (!quiet) print(job.text(draw ? std::optional(drawing) : std::nullopt));
  for (const std::string& finding : job.findings) std::cerr << printable(job.name + ": " + finding) << '\n';
  return job.findings.empty() ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace plumb
