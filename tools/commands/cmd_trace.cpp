#include <optional>

#include "models/ground/error.hpp"
#include "tools/ask/trace_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/tables/text_timeline.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {
namespace {

/// More spans are not drawn in characters, because the drawing would be unreadable.
constexpr std::size_t kMostSpansDrawn = 20'000;

}  // namespace

ExitStatus run_trace(const CommandLine& arguments) {
  OptionTable parser(
      TraceQuestion::kUsage,
      "Reads a real run from the traces of its ranks and says where its bubbles are, by cause. FILEs are, packed by\n"
      "gzip or not: traces of PyTorch's profiler (Kineto JSON, one per rank or merged) of "
      "torch.distributed.pipelining;\n"
      "SQLite exports of Nsight Systems; dumps of Primus or of PP-Schedule-Visualization's patch; a log with the "
      "timers\n"
      "of Megatron-LM; what `train --json` wrote, a file per run. `compare` lays them over a prediction.");
  TraceQuestion question;
  std::string output;
  std::string profile_path;
  ReportArguments reports;
  question.add_to(parser, [&] {
    parser.text("output,o", output, "FILE", "the measured timeline for `compare`: the same file that --json writes")
        .text("profile", profile_path, "FILE",
              "what actions, the host and messages cost in this run, for `simulate --profile` (- is standard output)")
        .brief();
  });
  reports.add_to(parser);
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  if (!output.empty() && !reports.json.empty()) {
    throw Error("--output: writes the same file as --json, expected one of them");
  }
  if (!output.empty()) reports.json = output;
  ReportFiles files(reports, profile_path);
  std::optional<OutputFile> profile;
  if (!profile_path.empty()) profile.emplace(profile_path);
  if (profile_path.empty() && question.has_knowledge())
    throw Error("--message-bytes, --messages and --network: are for --profile FILE, expected it with them");
  const TracedRun run = question.read();
  files.write({.steps = run.steps, .shown = run.shown()});
  if (profile) profile->finish(run_profile_to_json(question.profile(run)));
  if (profile_path == "-" || reports.takes_standard_output()) return ExitStatus::kDone;
  std::string text = traced_text(run);
  if (!reports.summary && run.timeline().spans.size() <= kMostSpansDrawn) {
    text += '\n' + text_timeline(run.timeline(), {.columns = terminal_columns(), .colour = wants_colour()});
  }
  print(text + next_text(question.next(run)));
  return ExitStatus::kDone;
}

}  // namespace plumb
