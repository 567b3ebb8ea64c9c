#include <optional>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/training/stability_study.hpp"
#include "tools/training/training.hpp"

namespace plumb {
namespace {

/// Larger polynomials take seconds each, and their roots lose digits.
constexpr std::int64_t kMostTau = 300;
constexpr std::int64_t kMostIterations = 1'000'000;

struct StabilityArguments {
  std::vector<std::string> methods;
  std::string taus = "0:20";
  std::optional<double> curvature;
  std::optional<double> sensitivity;
  std::optional<double> recompute_sensitivity;
  std::optional<double> momentum;
  std::optional<double> discount;
  std::optional<double> rate;
  std::optional<double> most;
  std::optional<std::int64_t> tau_bkwd;
  std::optional<std::int64_t> tau_recomp;
  std::optional<std::int64_t> iterations;
  std::string svg;
  std::string html;
  std::string json;
  std::string csv;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "stability [METHOD]... [options]",
        "Finds the largest learning rate for which delayed gradient descent on the loss lambda w^2 / 2 is stable,\n"
        "for each delay tau (in updates). METHOD is one of\n"
        "  delay      the gradient is tau updates old\n"
        "  momentum   the same with momentum\n"
        "  naive      forward and backward read weights of different ages\n"
        "  t2         naive with the discrepancy correction T2\n"
        "  t1         the learning rate is divided by tau\n"
        "  recompute  activations are computed again with newer weights\n"
        "or several joined by +, such as t1+t2. Default: delay momentum naive t2 naive+t1 t1+t2.");
    parser.positionals(methods, 0, "METHOD")
        .text("tau", taus, "RANGE", "forward delays in updates: 0:20, 1,2,4 or 0:40:4 (default: 0:20)")
        .whole("tau-bkwd", tau_bkwd, {0, kMostTau}, "backward delay, at most the forward delay (default: 0)")
        .whole("tau-recomp", tau_recomp, {0, kMostTau}, "delay of the recompute (default: half of the forward delay)")
        .real("curvature", curvature, {}, "lambda (default: 1)")
        .real("sensitivity", sensitivity, {}, "Delta, for naive, t2 and recompute (default: 5)")
        .real("recompute-sensitivity", recompute_sensitivity, {}, "Phi, for recompute (default: 1)")
        .real("momentum", momentum, {}, "momentum coefficient (default: 0.9)")
        .real("discount", discount, {}, "D for t2: gamma = D^(1/n) (default: gamma = 1 - 2/(n + 1))")
        .real("rate", rate, {0}, "also print the spectral radius at this learning rate")
        .real("most", most, {}, "largest learning rate to try (default: 4)")
        .whole("iterate", iterations, {100, kMostIterations},
               "also find the limit by running this many steps of the recursion");
    parser.group("Reports")
        .text("svg", svg, "FILE", "picture of the stable regions")
        .text("html", html, "FILE", "interactive page of the stable regions")
        .text("json", json, "FILE", "all figures as JSON (- is standard output)")
        .text("csv", csv, "FILE", "one row per method and delay");
    return parse_command_line(parser, arguments);
  }

  StabilityOptions options() const {
    StabilityOptions options;
    options.curvature = curvature.value_or(options.curvature);
    options.sensitivity = sensitivity.value_or(options.sensitivity);
    options.recompute_sensitivity = recompute_sensitivity.value_or(options.recompute_sensitivity);
    options.momentum = momentum.value_or(options.momentum);
    options.discount = discount;
    options.tau_bkwd = static_cast<std::int32_t>(tau_bkwd.value_or(0));
    if (tau_recomp) options.tau_recomp = static_cast<std::int32_t>(*tau_recomp);
    options.most = most.value_or(options.most);
    check(options);
    return options;
  }

  static void check(const StabilityOptions& options) {
    if (options.curvature <= 0) throw Error("--curvature: expected a number above 0");
    if (options.most <= 0) throw Error("--most: expected a learning rate above 0");
    if (options.momentum < 0 || options.momentum >= 1)
      throw Error("--momentum: expected a number of at least 0 and below 1");
    if (options.discount && (*options.discount <= 0 || *options.discount >= 1)) {
      throw Error("--discount: expected a number above 0 and below 1");
    }
  }
};

std::vector<std::int32_t> delays(const std::string& text) {
  std::vector<std::int32_t> taus;
  for (const std::int64_t tau : parse_range(text, "stability: --tau", {0, kMostTau}))
    taus.push_back(static_cast<std::int32_t>(tau));
  return taus;
}

}  // namespace

ExitStatus run_stability(const CommandLine& command_line) {
  StabilityArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  if (arguments.methods.empty()) arguments.methods = {"delay", "momentum", "naive", "t2", "naive+t1", "t1+t2"};
  std::vector<StabilityMethod> methods;
  for (const std::string& name : arguments.methods) methods.push_back(parse_stability_method(name));
  const StabilityOptions options = arguments.options();
  const std::vector<std::int32_t> taus = delays(arguments.taus);
  check_distinct_outputs({arguments.svg, arguments.html, arguments.json, arguments.csv});
  std::vector<std::pair<OutputFile, std::string (*)(const StabilityStudy&)>> files;
  const auto add = [&](const std::string& path, std::string (*make)(const StabilityStudy&)) {
    if (!path.empty()) files.emplace_back(OutputFile(path), make);
  };
  add(arguments.svg, [](const StabilityStudy& study) { return svg_plot(stability_plot(study)); });
  add(arguments.html, [](const StabilityStudy& study) { return html_plots(stability_page(study)); });
  add(arguments.json, stability_json);
  add(arguments.csv, stability_csv);
  const StabilityStudy study =
      study_stability(options, methods, taus, arguments.rate, arguments.iterations.value_or(0));
  for (auto& [file, make] : files) file.finish(make(study));
  const bool quiet = arguments.svg == "-" || arguments.html == "-" || arguments.json == "-" || arguments.csv == "-";
  if (!quiet) print(stability_text(study));
  return ExitStatus::kDone;
}

}  // namespace plumb
