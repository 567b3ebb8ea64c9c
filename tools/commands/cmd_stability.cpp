#include <utility>

#include "tools/ask/stability_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

struct StabilityArguments {
  StabilityQuestion question;
  std::string svg;
  std::string html;
  std::string json;
  std::string csv;

  bool parse(const CommandLine& arguments) {
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
    question.add_to(parser);
    parser.group("Reports")
        .text("svg", svg, "FILE", "picture of the stable regions")
        .text("html", html, "FILE", "interactive page of the stable regions")
        .text("json", json, "FILE", "all figures as JSON (- is standard output)")
        .text("csv", csv, "FILE", "one row per method and delay");
    return parse_command_line(parser, arguments);
  }
};

}  // namespace

ExitStatus run_stability(const CommandLine& command_line) {
  StabilityArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  arguments.question.options();  // refused before files are opened
  check_distinct_outputs({arguments.svg, arguments.html, arguments.json, arguments.csv});
  std::vector<std::pair<OutputFile, std::string (*)(const StabilityStudy&)>> files;
  const auto add = [&](const std::string& path, std::string (*make)(const StabilityStudy&)) {
    if (!path.empty()) files.emplace_back(OutputFile(path), make);
  };
  add(arguments.svg, [](const StabilityStudy& study) { return svg_plot(stability_plot(study)); });
  add(arguments.html, [](const StabilityStudy& study) { return html_plots(stability_page(study)); });
  add(arguments.json, stability_json);
  add(arguments.csv, stability_csv);
  const StabilityStudy study = arguments.question.study();
  for (auto& [file, make] : files) file.finish(make(study));
  const bool quiet = arguments.svg == "-" || arguments.html == "-" || arguments.json == "-" || arguments.csv == "-";
  if (!quiet) print(stability_text(study));
  return ExitStatus::kDone;
}

}  // namespace plumb
