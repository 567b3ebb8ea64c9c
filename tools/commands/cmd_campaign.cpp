#include "models/ground/error.hpp"
#include "tools/ask/campaign_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

ExitStatus run_campaign_command(const CommandLine& arguments) {
  OptionTable parser(CampaignQuestion::kUsage,
                     "Simulates a job over hours or days while nodes join, fail and leave, by the rules of published "
                     "systems.\nReports samples, how the time is spent, and the cost. Steps come from the simulator "
                     "(NAME or FILE with "
                     "--network\n"
                     "and --cluster) or from a table (--layouts). A node holds one stage.\n"
                     "`campaign --list` lists the rules with their sources and options.");
  CampaignQuestion question;
  OutputFiles files;
  bool list = false;
  question.add_to(parser);
  parser.group("Output").flag("list", list, "list the rules");
  files.add_to(parser, "json", "the answer with all phases, or the list (- is standard output)")
      .add_to(parser, "html",
              "page with nodes, layouts and uses of time, or with all rules over several values (- is standard output)")
      .add_to(parser, "svg",
              "picture of the best rule's nodes and uses of time, or of all rules over several values (- is standard "
              "output)");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  const bool several = !list && question.is_sweep();
  files.open();
  if (list) {
    files.finish("json", campaign_rules_json);
    if (files.path("json") != "-") print(campaign_rules_text());
    return ExitStatus::kDone;
  }
  const auto write = [&](const auto& answer) {
    files.finish("json", [&] { return campaign_json(answer); });
    files.finish("html", [&] { return campaign_page(answer); });
    files.finish("svg", [&] { return campaign_svg(answer); });
    if (!files.take_standard_output()) print(campaign_text(answer));
  };
  several ? write(question.sweep()) : write(question.answer());
  return ExitStatus::kDone;
}

}  // namespace plumb
