#include <optional>
#include <string>

#include "models/ground/error.hpp"
#include "tools/ask/jobs_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/progress.hpp"

namespace plumb {

ExitStatus run_plan_jobs(const CommandLine& arguments) {
  OptionTable parser(
      JobsQuestion::kUsage,
      "Shares the devices of a cluster out to several whole jobs: how many devices each gets, with which plan, and\n"
      "when it starts, so that all are done as early as possible. Plans are searched for every job and number of\n"
      "devices, as by `plumbline plan`; a lower bound tells how much shorter any other schedule of these plans could\n"
      "be.");
  JobsQuestion question;
  std::string json;
  std::string svg;
  question.add_to(parser);
  parser.group("Output")
      .text("json", json, "FILE", "write the schedule and all plans as JSON (- is standard output)")
      .text("svg", svg, "FILE", "write a picture: devices, and the jobs on them over time (- is standard output)");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  if (question.file.empty()) throw Error("plan: --jobs: expected a file");
  check_distinct_outputs({json, svg});
  std::optional<OutputFile> json_file;
  std::optional<OutputFile> svg_file;
  if (!json.empty()) json_file.emplace(json);
  if (!svg.empty()) svg_file.emplace(svg);
  std::optional<Progress> line(std::in_place, "plan");
  const JobsAnswer answer =
      question.answer([&](std::int64_t done, std::int64_t all, const std::string& job) { line->show(done, all, job); });
  line.reset();
  if (json_file) json_file->finish(jobs_json(answer));
  if (svg_file) svg_file->finish(jobs_svg(answer));
  if (json != "-" && svg != "-") print(jobs_text(answer));
  return ExitStatus::kDone;
}

}  // namespace plumb
