#include "tools/ask/stability_question.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/reports/plot_page.hpp"
#include "tools/reports/plot_svg.hpp"

namespace plumb {
namespace {

/// Larger polynomials take seconds each, and their roots lose digits.
constexpr std::int64_t kMostTau = 300;
constexpr std::int64_t kMostIterations = 1'000'000;

void check_stability(const StabilityOptions& options) {
  if (options.curvature <= 0) throw Error("--curvature: expected a number above 0");
  if (options.most <= 0) throw Error("--most: expected a learning rate above 0");
  if (options.momentum < 0 || options.momentum >= 1)
    throw Error("--momentum: expected a number of at least 0 and below 1");
  if (options.discount && (*options.discount <= 0 || *options.discount >= 1)) {
    throw Error("--discount: expected a number above 0 and below 1");
  }
}

}  // namespace

void StabilityQuestion::add_to(OptionTable& table) {
  table.positionals(methods, 0, "METHOD,methods")
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
}

StabilityOptions StabilityQuestion::options() const {
  StabilityOptions options;
  options.curvature = curvature.value_or(options.curvature);
  options.sensitivity = sensitivity.value_or(options.sensitivity);
  options.recompute_sensitivity = recompute_sensitivity.value_or(options.recompute_sensitivity);
  options.momentum = momentum.value_or(options.momentum);
  options.discount = discount;
  options.tau_bkwd = static_cast<std::int32_t>(tau_bkwd.value_or(0));
  if (tau_recomp) options.tau_recomp = static_cast<std::int32_t>(*tau_recomp);
  options.most = most.value_or(options.most);
  check_stability(options);
  return options;
}

StabilityStudy StabilityQuestion::study() const {
  const std::vector<std::string> usual{"delay", "momentum", "naive", "t2", "naive+t1", "t1+t2"};
  std::vector<StabilityMethod> asked;
  for (const std::string& name : methods.empty() ? usual : methods) asked.push_back(parse_stability_method(name));
  std::vector<std::int32_t> delays;
  for (const std::int64_t tau : parse_range(taus, "stability: --tau", {0, kMostTau}))
    delays.push_back(static_cast<std::int32_t>(tau));
  if (const std::int32_t longest = std::ranges::max(delays); tau_bkwd.value_or(0) > longest) {
    throw Error("stability: --tau-bkwd " + std::to_string(*tau_bkwd) +
                " is above the forward delays, expected at most " + std::to_string(longest));
  }
  return study_stability(options(), asked, delays, rate, iterations.value_or(0));
}

namespace {}  // namespace

void StabilityQuestion::add_parts(const Request& request, AnswerDocument& document) {
  const StabilityStudy found = study();
  if (request.wants("study")) document.add_json("study", stability_json(found));
  if (request.wants("text")) document.add_text("text", stability_text(found));
  if (request.wants("csv")) document.add_text("csv", stability_csv(found));
  if (request.wants("svg")) document.add_text("svg", svg_plot(stability_plot(found)));
  if (request.wants("html")) document.add_text("html", html_plots(stability_page(found)));
}

}  // namespace plumb
