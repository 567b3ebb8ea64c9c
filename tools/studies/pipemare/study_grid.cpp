#include "tools/studies/pipemare/study_grid.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "schedules/versions/steady_delays.hpp"
#include "sim/stability/stability.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/studies/pipemare/study_report.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/words.hpp"
#include "tools/training/train_run.hpp"

namespace plumb {
namespace {

/// Of SGD in the studies, and beta1 of Adam.
constexpr double kMomentum = 0.9;

double number(const std::string& rate) { return parse_real(rate, "learning rate"); }

/// A line per method: the mean of `value` at the end of the runs at every rate that was tried.
Plot over_rates(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs,
                const std::function<double(const StudyPoint&)>& value) {
  Plot plot{.title = task.title,
            .note = task.note + (task.note.empty() ? "" : "; ") + "at the end, mean over seeds",
            .x = {"learning rate", true},
            .y = {},
            .series = {},
            .marks = {}};
  for (std::size_t m = 0; m < study.methods.size(); ++m) {
    PlotSeries series{.name = study.methods[m].title, .x = {}, .y = {}};
    series.colour = method_colour(m);
    series.dashed = m == 0 || m >= kPlotColours.size();
    series.points = true;
    for (const std::string& rate : all_rates(task)) {
      const StudySetting setting = rule_setting(task, study.methods[m], rate);
      std::vector<double> values;
      for (const StudyRun& run : runs) {
        if (!run.is(task, study.methods[m]) || run.setting != setting || run.points.empty()) continue;
        if (std::isfinite(value(run.points.back()))) values.push_back(value(run.points.back()));
      }
      if (values.empty()) continue;
      series.x.push_back(number(rate));
      series.y.push_back(estimate(values).mean);
    }
    if (!series.x.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

/// "0.003 (1/3)": a rate, and what share of `whole` it is.
std::string rate_text(const std::optional<std::string>& rate, const std::optional<std::string>& whole) {
  if (!rate) return "none tried";
  if (!whole) return *rate;
  return *rate + " (" + number_text(number(*rate) / number(*whole), 2) + "x)";
}

/// The highest rate at which most runs reach the target.
std::optional<std::string> highest_to_target(const Study& study, const StudyTask& task, const StudyMethod& method,
                                             const std::vector<StudyRun>& runs) {
  std::optional<std::string> highest;
  for (const std::string& rate : all_rates(task)) {
    const MethodFigures of = figures_at(study, runs, task, method, rule_setting(task, method, rate));
    if (of.to_target && 2 * of.to_target->count > of.runs) highest = rate;
  }
  return highest;
}

bool predicts(const std::string& command) {
  for (const char* name : {"spectrain", "pipeoptim", "xpipe"}) {
    if (command.find(name) != std::string::npos) return true;
  }
  return false;
}

std::string bound_text(const std::string& command, double tau) {
  if (predicts(command)) return "not for predicted weights";
  const double bound = stability_bound(static_cast<std::int32_t>(std::lround(tau)), kMomentum);
  std::string text = number_text(bound, 2) + "x";
  if (command.find("t1:") != std::string::npos && tau > 1) {
    text = number_text(bound * tau, 2) + "x at the start, " + text + " after K";
  }
  return text;
}

std::string missing_of(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  std::map<std::string, int> grid;
  std::map<std::string, int> at_best;
  int variants = 0;
  for (const PlannedRun& run : planned_runs(study, {.tasks = {task.name}, .methods = {}}, runs)) {
    const StudySetting rule = rule_setting(task, *run.method, run.setting.rate);
    const bool best = best_rate(task, *run.method, runs) == run.setting.rate;
    if (run.setting != rule) {
      ++variants;
    } else {
      ++(best && run.seed > 0 ? at_best : grid)[run.method->title];
    }
  }
  std::string text;
  const auto add = [&](const std::map<std::string, int>& of, const std::string& what) {
    if (of.empty()) return;
    int all = 0;
    std::string names;
    for (const auto& [name, count] : of) {
      all += count;
      names += (names.empty() ? "" : ", ") + name + " " + std::to_string(count);
    }
    text += (text.empty() ? "" : "; ") + std::to_string(all) + " " + what + " (" + names + ")";
  };
  add(grid, "runs of the grid over rates");
  add(at_best, "further seeds at the best rates");
  if (variants > 0) {
    text += (text.empty() ? "" : "; ") + std::to_string(variants) + " runs with other K and D";
  }
  return text;
}

}  // namespace

Plot grid_plot(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  Plot plot =
      over_rates(study, task, runs, [](const StudyPoint& point) { return point.loss.value_or(point.train_loss); });
  plot.y = {"held-out loss", true};
  return plot;
}

Plot grid_quality_plot(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  Plot plot = over_rates(study, task, runs, [&](const StudyPoint& point) {
    return (task.by_accuracy ? 100 : 1) * quality_of(task, point);
  });
  plot.y = {task.by_accuracy ? "accuracy, %" : "loss", !task.by_accuracy};
  return plot;
}

double stability_bound(std::int32_t tau, double momentum) {
  const auto most = [&](std::int32_t late) {
    return *largest_stable_rate({.tau_fwd = late, .tau_bkwd = late, .tau_recomp = late, .momentum = momentum}, 1e3);
  };
  return most(tau) / most(0);
}

double first_delay(const std::string& train_command) {
  const TrainRun run = parse_train_run(train_command);
  const std::optional<SteadyDelays> delays = steady_delays(run.options.schedule, StageId{0});
  return delays ? delays->forward : 0;
}

PlotTable stability_table(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  PlotTable table{.head = {"method", "no divergence up to", "diverges from", "reaches the target up to",
                           "delay of the first stage, updates", "bound of the theory, of the synchronous rate"},
                  .rows = {}};
  const StableRates first = stable_rates(task, study.methods.front(), runs);
  const std::optional<std::string> first_reached = highest_to_target(study, task, study.methods.front(), runs);
  for (const StudyMethod& method : study.methods) {
    const std::optional<std::string> best = best_rate(task, method, runs);
    if (!best) continue;
    const StableRates rates = stable_rates(task, method, runs);
    const std::string command = study_command(task, method, rule_setting(task, method, *best));
    const double tau = first_delay(command);
    const std::optional<std::string> reached = highest_to_target(study, task, method, runs);
    table.rows.push_back(
        {method.title, rates.highest ? rate_text(rates.highest, first.highest) : "none tried",
         rates.first_diverged ? rate_text(rates.first_diverged, first.first_diverged) : "no rate that was tried",
         reached ? rate_text(reached, first_reached) : "no rate that was tried", fixed_text(tau, 2),
         bound_text(command, tau)});
  }
  return table;
}

PlotTable variants_table(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  PlotTable table{.head = {"method", "rate", "K", "D", "seeds", task.by_accuracy ? "accuracy, %" : "loss", "diverged"},
                  .rows = {}};
  for (const StudyMethod& method : study.methods) {
    const std::optional<std::string> best = best_rate(task, method, runs);
    if (!best) continue;
    std::vector<StudySetting> settings = other_settings(task, method, *best);
    if (settings.empty()) continue;
    settings.insert(settings.begin(), rule_setting(task, method, *best));
    for (const StudySetting& setting : settings) {
      const MethodFigures of = figures_at(study, runs, task, method, setting);
      if (of.runs == 0) continue;
      table.rows.push_back({method.title + (setting == settings.front() ? " (the paper's rule)" : ""), setting.rate,
                            setting.k.empty() ? "-" : setting.k, setting.d.empty() ? "-" : setting.d,
                            std::to_string(of.runs), quality_text(task, of.quality), std::to_string(of.diverged)});
    }
  }
  return table;
}

std::vector<std::string> missing_cells(const Study& study, const std::vector<StudyRun>& runs) {
  std::vector<std::string> lines;
  for (const StudyTask& task : study.tasks) {
    const std::string missing = missing_of(study, task, runs);
    if (!missing.empty()) lines.push_back(task.title + ": " + missing);
  }
  return lines;
}

}  // namespace plumb
