#include <algorithm>
#include <optional>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "sim/traces/run_samples.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/run_files.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/tables/text_timeline.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {
namespace {

/// More spans are not drawn in characters, because the drawing would be unreadable.
constexpr std::size_t kMostSpansDrawn = 20'000;

struct TraceArguments {
  std::vector<std::string> files;
  std::optional<std::int64_t> step;
  std::string output;
  std::string profile;
  std::string message_bytes;
  std::vector<std::string> messages;
  ReportArguments reports;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "trace FILE... [options]",
        "Reads a real run from the traces of its ranks and says where its bubbles are, by cause. FILEs are, packed by\n"
        "gzip or not: traces of PyTorch's profiler (Kineto JSON, one per rank or merged) of "
        "torch.distributed.pipelining;\n"
        "SQLite exports of Nsight Systems; dumps of Primus or of PP-Schedule-Visualization's patch; a log with the "
        "timers\n"
        "of Megatron-LM; what `train --json` wrote, a file per run. `compare` lays them over a prediction.");
    parser.positionals(files, 1, "FILE")
        .whole("step", step, {0, 1'000'000}, "which traced step, from 0 (default: the one of median length)")
        .text("output,o", output, "FILE", "the measured timeline for `compare`: the same file that --json writes")
        .text("profile", profile, "FILE",
              "what actions, the host and messages cost in this run, for `simulate --profile` (- is standard output)")
        .text("message-bytes", message_bytes, "SIZE",
              "size of this run's messages, such as 4MiB, which traces do not tell")
        .texts("messages", messages, "FILE",
               "what messages of other sizes take, for --profile: the profile of another run on the same machine, or a "
               "ping-pong (CSV with the columns bytes and median_us); may be repeated");
    reports.add_to(parser);
    if (!parse_command_line(parser, arguments)) return false;
    if (output.empty()) return true;
    if (!reports.json.empty()) throw Error("--output: writes the same file as --json, expected one of them");
    reports.json = output;
    return true;
  }
};

/// "traced steps     305.5 ms (shown), 307.7 ms"
std::string steps_text(const TracedRun& run) {
  const std::vector<std::int32_t> calm = calm_steps(run.step_ns);
  std::string text = "traced steps    ";
  for (std::size_t k = 0; k < run.step_ns.size(); ++k) {
    const bool disturbed = !std::ranges::binary_search(calm, static_cast<std::int32_t>(k));
    text += (k == 0 ? " " : ", ") + time_text(run.step_ns[k]);
    if (static_cast<std::int32_t>(k) == run.step) text += " (shown)";
    if (disturbed) text += " (disturbed)";
  }
  text += '\n';
  for (const std::string& sentence : run.left_out) text += sentence + '\n';
  for (const std::int32_t rank : run.missing_ranks) {
    text += "rank " + std::to_string(rank) +
            "           its trace is missing, so what it did is unknown; waits for it count as 'missing rank'\n";
  }
  const auto moved = [](std::int64_t ns) { return ns != 0; };
  if (std::ranges::any_of(run.clock_offsets_ns, moved)) {
    text += "clocks moved by ";
    for (std::size_t rank = 0; rank < run.clock_offsets_ns.size(); ++rank) {
      text += (rank == 0 ? " " : ", ") + time_text(run.clock_offsets_ns[rank]);
    }
    text += "; a message then arrives at most " + time_text(run.clock_residual_ns) + " before it was sent\n";
  }
  return text;
}

/// The profile of the run, with what `--messages` tells of other sizes.
RunProfile profile_of(const TracedRun& run, const TraceArguments& arguments) {
  RunProfile profile = run.known_profile();
  if (!arguments.message_bytes.empty()) {
    profile.message_bytes = parse_bytes(arguments.message_bytes, "--message-bytes");
    if (!profile.messages.empty()) profile.messages.front().bytes = profile.message_bytes;
  }
  for (const std::string& file : arguments.messages) {
    if (profile.message_bytes == 0 || profile.messages.empty())
      throw Error("--messages: the size of the run's own messages is not known, expected --message-bytes");
    const std::string text = read_text_file(file, kProfileFile);
    if (text.starts_with('{')) {
      add_message_sizes(profile, run_profile_from_json(text, file).messages);
      continue;
    }
    // NCCL moves bytes with kernels; a call of gloo or MPI copies them.
    const bool calls_move_bytes = run.backend != "nccl";
    const auto own = std::ranges::find(profile.messages, profile.message_bytes, &MeasuredMessages::bytes);
    add_message_sizes(profile, with_ping_pong(*own, ping_pong_from_csv(text, file), calls_move_bytes));
  }
  return profile;
}

}  // namespace

ExitStatus run_trace(const CommandLine& command_line) {
  TraceArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  ReportFiles reports(arguments.reports, arguments.profile);
  std::optional<OutputFile> profile;
  if (!arguments.profile.empty()) profile.emplace(arguments.profile);
  if (arguments.profile.empty() && !(arguments.message_bytes.empty() && arguments.messages.empty()))
    throw Error("--message-bytes and --messages: are for --profile FILE, expected it with them");
  std::optional<std::int32_t> step;
  if (arguments.step) step = static_cast<std::int32_t>(*arguments.step);
  const TracedRun run = read_traces(arguments.files, step);
  reports.write({.steps = run.steps, .shown = static_cast<std::size_t>(run.step)});
  if (profile) profile->finish(run_profile_to_json(profile_of(run, arguments)));
  if (arguments.profile == "-" || arguments.reports.takes_standard_output()) return ExitStatus::kDone;
  std::string text = figures_text(run.timeline()) + steps_text(run) + '\n' + devices_text(run.timeline());
  if (!arguments.reports.summary && run.timeline().spans.size() <= kMostSpansDrawn) {
    text += '\n' + text_timeline(run.timeline(), {.columns = terminal_columns(), .colour = wants_colour()});
  }
  print(text);
  return ExitStatus::kDone;
}

}  // namespace plumb
