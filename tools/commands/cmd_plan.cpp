#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "tools/ask/planner_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/plans/plan_text.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

namespace {

bool has_option(const CommandLine& command_line, std::string_view option) {
  return std::ranges::any_of(command_line, [&](const std::string& word) {
    return word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=');
  });
}

}  // namespace

ExitStatus run_plan(const CommandLine& command_line, RunShared shared) {
  if (has_option(command_line, "--jobs")) return run_plan_jobs(command_line);
  const bool asks_planner = has_option(command_line, "--method") || has_option(command_line, "--list");
  if (!asks_planner) return run_plan_search(command_line, shared);
  PlannerQuestion question;
  std::string json;
  bool list = false;
  OptionTable parser(
      PlannerQuestion::kUsage,
      "Runs a published planner: it cuts the network into stages and decides how often to replicate each.\n"
      "`plan --list` lists the planners, what each minimises, and what its paper leaves open.");
  question.add_method_to(parser);
  parser.flag("list", list, "list the planners");
  question.arguments.add_to(parser);
  parser.group("Output").text("json", json, "FILE", "write the plan, or the list, as JSON (- is standard output)");
  if (!parse_command_line(parser, command_line)) return ExitStatus::kDone;
  std::optional<OutputFile> file;
  if (!json.empty()) file.emplace(json);
  if (list) {
    if (file) file->finish(planners_json());
    if (json != "-") print(planners_text());
    return ExitStatus::kDone;
  }
  const PublishedPlan published = question.answer();
  const auto& [planner, problem, plan] = published;
  if (file) file->finish(plan_json(*planner, problem, plan));
  if (json != "-") print(plan_text(*planner, problem, plan));
  return ExitStatus::kDone;
}

}  // namespace plumb
