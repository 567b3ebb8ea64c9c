#include <optional>

#include "models/ground/error.hpp"
#include "tools/ask/campaign_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

ExitStatus run_campaign_command(const CommandLine& arguments) {
  OptionTable parser(
      CampaignQuestion::kUsage,
      "Plays a job over hours or days while nodes come, fail and go, by the rules of published systems, and says what\n"
      "the job gets, where its time goes and what it costs. Steps come from the simulator (NAME or FILE with "
      "--network\n"
      "and --cluster) or from a table (--layouts). A node holds one stage.\n"
      "`campaign --list` lists the rules with their sources and options.");
  CampaignQuestion question;
  std::string json;
  std::string html;
  std::string svg;
  bool list = false;
  question.add_to(parser);
  parser.group("Output")
      .flag("list", list, "list the rules")
      .text("json", json, "FILE", "the answer with all phases, or the list (- is standard output)")
      .text("html", html, "FILE",
            "page with nodes, layouts and uses of time, or with all rules over several values (- is standard output)")
      .text("svg", svg, "FILE",
            "picture of the best rule's nodes and uses of time, or of all rules over several values (- is standard "
            "output)");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  check_distinct_outputs({json, html, svg});
  if (list) {
    std::optional<OutputFile> file;
    if (!json.empty()) file.emplace(json);
    if (file) file->finish(campaign_rules_json());
    if (json != "-") print(campaign_rules_text());
    return ExitStatus::kDone;
  }
  const bool several = question.is_sweep();
  std::optional<OutputFile> json_file;
  std::optional<OutputFile> html_file;
  std::optional<OutputFile> svg_file;
  if (!json.empty()) json_file.emplace(json);
  if (!html.empty()) html_file.emplace(html);
  if (!svg.empty()) svg_file.emplace(svg);
  const auto write = [&](const auto& answer) {
    if (json_file) json_file->finish(campaign_json(answer));
    if (html_file) html_file->finish(campaign_page(answer));
    if (svg_file) svg_file->finish(campaign_svg(answer));
    if (json != "-" && html != "-" && svg != "-") print(campaign_text(answer));
  };
  several ? write(question.sweep()) : write(question.answer());
  return ExitStatus::kDone;
}

}  // namespace plumb
