#include <optional>
#include <string>
#include <utility>

#include "tools/ask/schedule_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

/// The text to write; no value when the schedule is invalid and all findings have been noted.
std::optional<std::string> text_of(const ScheduleQuestion& question, const ScheduleFormat& format) {
  Schedule schedule = question.load();
  if (!question.explain) return written_schedule(question.name, format, std::move(schedule));
  if (const auto violations = check_schedule(schedule); !violations.empty()) {
    note_findings(question.name, violations);
    return std::nullopt;
  }
  return question.guide(schedule);
}

}  // namespace

ExitStatus run_schedule(const CommandLine& arguments) {
  OptionTable options(ScheduleQuestion::kUsage,
                      "Writes a schedule to a file, or explains how to run it in PyTorch and Megatron-LM.");
  std::string path = "-";
  ScheduleQuestion question;
  question.size.runs_programs = true;
  options.text("output,o", path, "FILE", "file to write (default: standard output)");
  question.add_to(options);
  if (!parse_command_line(options, arguments)) return ExitStatus::kDone;
  if (question.format.empty() && !question.explain) check_extension(path, "--format");
  const ScheduleFormat& format = written_format(question.format, path);
  OutputFile file(path);
  const auto text = text_of(question, format);
  if (!text) return ExitStatus::kNo;
  file.finish(*text);
  return ExitStatus::kDone;
}

}  // namespace plumb
