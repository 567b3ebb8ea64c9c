#include "tools/ask/stability_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

ExitStatus run_stability(const CommandLine& arguments) {
  OptionTable parser(
      StabilityQuestion::kUsage,
      "Finds the largest learning rate for which delayed gradient descent on the loss lambda w^2 / 2 is stable,\n"
      "for each delay tau (in updates). METHOD is one of\n"
      "  delay      the gradient is tau updates old\n"
      "  momentum   the same with momentum\n"
      "  naive      forward and backward read weights of different ages\n"
      "  t2         naive with the discrepancy correction T2\n"
      "  t1         the learning rate is divided by tau\n"
      "  recompute  activations are computed again with newer weights\n"
      "or several joined by +, such as t1+t2. Default: delay momentum naive t2 naive+t1 t1+t2.");
  StabilityQuestion question;
  OutputFiles files;
  question.add_to(parser);
  files.add_to(parser.group("Reports"), "svg", "picture of the stable regions")
      .add_to(parser, "html", "interactive page of the stable regions")
      .add_to(parser, "json", "all figures as JSON (- is standard output)")
      .add_to(parser, "csv", "one row per method and delay");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  question.options();  // refused before files are opened
  files.open();
  const StabilityStudy study = question.study();
  files.finish("svg", [&] { return svg_plot(stability_plot(study)); });
  files.finish("html", [&] { return html_plots(stability_page(study)); });
  files.finish("json", [&] { return stability_json(study); });
  files.finish("csv", [&] { return stability_csv(study); });
  if (!files.take_standard_output()) print(stability_text(study));
  return ExitStatus::kDone;
}

}  // namespace plumb
