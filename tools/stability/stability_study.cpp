#include "tools/stability/stability_study.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <tbb/parallel_for.h>
#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kWords{"delay", "momentum", "naive", "t1", "t2", "recompute"};

/// Fills of more curves hide each other.
constexpr std::size_t kMostRegions = 2;

std::string rate_text(const std::optional<double>& rate) { return rate ? fixed_text(*rate, 6) : "-"; }

Json rates_json(const std::vector<std::optional<double>>& rates) {
  Json list = Json::array();
  for (const auto& rate : rates) list.push_back(rate ? Json(*rate) : Json());
  return list;
}

/// One point of a curve.
void solve(StabilityCurve& curve, std::size_t i, const StabilityStudy& study, std::int64_t iterations) {
  const std::int32_t tau = study.taus[i];
  const DelayedQuadratic problem = curve.method.problem(study.options, tau);
  const double factor = curve.method.rate_factor(tau);
  const auto scaled = [factor](std::optional<double> rate) { return rate ? std::optional(*rate * factor) : rate; };
  const double most = study.options.most / factor;
  curve.by_roots[i] = scaled(largest_stable_rate(problem, most));
  if (iterations > 0) curve.by_iterating[i] = scaled(largest_stable_rate_by_iterating(problem, iterations, most));
  if (study.rate) curve.radius[i] = spectral_radius(problem, *study.rate / factor);
}

std::string conditions(const StabilityStudy& study) {
  const StabilityOptions& of = study.options;
  std::string text = "lambda " + number_text(of.curvature) + ", Delta " + number_text(of.sensitivity) + ", tau_bkwd " +
                     std::to_string(of.tau_bkwd) + ", momentum " + number_text(of.momentum) + ", T2 with ";
  return text + (of.discount ? "D = " + number_text(*of.discount) : "gamma = 1 - 2/(n + 1)");
}

}  // namespace

DelayedQuadratic StabilityMethod::problem(const StabilityOptions& options, std::int32_t tau) const {
  DelayedQuadratic of;
  of.curvature = options.curvature;
  of.tau_fwd = tau;
  of.tau_bkwd = std::min(options.tau_bkwd, tau);
  of.tau_recomp = std::min(options.tau_recomp.value_or(tau / 2), tau);
  if (momentum) of.momentum = options.momentum;
  if (discrepancy) of.sensitivity = options.sensitivity;
  if (recompute) of.recompute_sensitivity = options.recompute_sensitivity;
  const double n = tau - of.tau_bkwd;
  if (t2) of.gamma = options.discount ? gamma_of(*options.discount, n) : taylor_gamma(n);
  return of;
}

double StabilityMethod::rate_factor(std::int32_t tau) const { return t1 ? std::max(tau, 1) : 1; }

StabilityMethod parse_stability_method(const std::string& name) {
  StabilityMethod method;
  method.name = name;
  const std::vector<std::string> words = split(name, '+');
  for (const std::string& word : words) {
    if (std::ranges::find(kWords, word) == kWords.end()) throw_unknown("method", word, kWords);
    if (std::ranges::count(words, word) > 1) throw Error("method '" + name + "': " + word + " is named twice");
    method.momentum |= word == "momentum";
    method.discrepancy |= word == "naive" || word == "t2" || word == "recompute";
    method.t1 |= word == "t1";
    method.t2 |= word == "t2";
    method.recompute |= word == "recompute";
  }
  if (words.empty()) throw Error("method: is empty, expected delay, momentum, naive, t1, t2 or recompute");
  return method;
}

StabilityStudy study_stability(const StabilityOptions& options, const std::vector<StabilityMethod>& methods,
                               const std::vector<std::int32_t>& taus, std::optional<double> rate,
                               std::int64_t iterations) {
  StabilityStudy study{.options = options, .taus = taus, .rate = rate, .curves = {}};
  for (const StabilityMethod& method : methods) {
    StabilityCurve& curve = study.curves.emplace_back();
    curve.method = method;
    curve.by_roots.resize(taus.size());
    if (iterations > 0) curve.by_iterating.resize(taus.size());
    if (rate) curve.radius.resize(taus.size());
  }
  tbb::parallel_for(std::size_t{0}, methods.size() * taus.size(),
                    [&](std::size_t k) { solve(study.curves[k / taus.size()], k % taus.size(), study, iterations); });
  return study;
}

std::string stability_text(const StabilityStudy& study) {
  std::string text = conditions(study) + "\n\nlargest stable learning rate (-: stable up to " +
                     number_text(study.options.most) + ")\n";
  std::vector<TextTable::Column> columns{{"tau", '>'}};
  for (const StabilityCurve& curve : study.curves) {
    columns.push_back({curve.method.name, '>'});
    if (!curve.by_iterating.empty()) columns.push_back({"iterated", '>'});
    if (study.rate) columns.push_back({"radius at " + number_text(*study.rate), '>'});
  }
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < study.taus.size(); ++i) {
    std::vector<std::string> cells{std::to_string(study.taus[i])};
    for (const StabilityCurve& curve : study.curves) {
      cells.push_back(rate_text(curve.by_roots[i]));
      if (!curve.by_iterating.empty()) {
        cells.push_back(curve.by_iterating[i] ? fixed_text(*curve.by_iterating[i], 4) : "-");
      }
      if (study.rate) cells.push_back(fixed_text(curve.radius[i], 6));
    }
    table.add_row(std::move(cells));
  }
  return text + table.to_string();
}

std::string stability_json(const StabilityStudy& study) {
  const StabilityOptions& of = study.options;
  Json document = {{"format", "plumbline-stability"},
                   {"version", 1},
                   {"curvature", of.curvature},
                   {"sensitivity", of.sensitivity},
                   {"recompute_sensitivity", of.recompute_sensitivity},
                   {"momentum", of.momentum},
                   {"discount", of.discount ? Json(*of.discount) : Json()},
                   {"tau_bkwd", of.tau_bkwd},
                   {"tau_recomp", of.tau_recomp ? Json(*of.tau_recomp) : Json()},
                   {"most", of.most},
                   {"tau", study.taus},
                   {"methods", Json::array()}};
  if (study.rate) document["rate"] = *study.rate;
  for (const StabilityCurve& curve : study.curves) {
    Json method = {{"name", curve.method.name}, {"largest_stable_rate", rates_json(curve.by_roots)}};
    if (!curve.by_iterating.empty()) method["by_iterating"] = rates_json(curve.by_iterating);
    if (study.rate) method["spectral_radius"] = curve.radius;
    document["methods"].push_back(std::move(method));
  }
  return document.dump(1) + "\n";
}

std::string stability_csv(const StabilityStudy& study) {
  std::string text = "method,tau,largest_stable_rate\n";
  for (const StabilityCurve& curve : study.curves) {
    for (std::size_t i = 0; i < study.taus.size(); ++i) {
      text += curve.method.name + "," + std::to_string(study.taus[i]) + "," +
              (curve.by_roots[i] ? number_text(*curve.by_roots[i], 10) : "") + "\n";
    }
  }
  return text;
}

Plot stability_plot(const StabilityStudy& study) {
  Plot plot{.title = "Largest stable learning rate",
            .note = "stable below the lines; " + conditions(study),
            .x = {"delay tau_fwd, updates"},
            .y = {"learning rate alpha", true},
            .series = {},
            .marks = {}};
  for (const StabilityCurve& curve : study.curves) {
    PlotSeries& series = plot.series.emplace_back();
    series.name = curve.method.name;
    series.colour = plot.series.size() - 1;
    series.region = study.curves.size() <= kMostRegions;
    for (std::size_t i = 0; i < study.taus.size(); ++i) {
      series.x.push_back(study.taus[i]);
      series.y.push_back(curve.by_roots[i].value_or(std::numeric_limits<double>::quiet_NaN()));
    }
  }
  return plot;
}

PlotPage stability_page(const StabilityStudy& study) {
  const Plot plot = stability_plot(study);
  PlotTable table{.head = {"tau"}, .rows = {}};
  for (const StabilityCurve& curve : study.curves) table.head.push_back(curve.method.name);
  for (std::size_t i = 0; i < study.taus.size(); ++i) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(std::to_string(study.taus[i]));
    for (const StabilityCurve& curve : study.curves) row.push_back(rate_text(curve.by_roots[i]));
  }
  PlotPage page{.title = "Stability of delayed gradient descent", .note = conditions(study), .cards = {}};
  page.cards.push_back({.title = plot.title,
                        .note = "Stable below the lines. A click on a name hides its line.",
                        .choices = {{.name = "", .plot = plot, .table = table}},
                        .choice_label = ""});
  return page;
}

}  // namespace plumb
