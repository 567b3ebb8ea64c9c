#include "tools/studies/pipemare/study_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

namespace plumb {
namespace {

/// 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom; beyond them 1.96 is close enough.
constexpr std::array kStudent{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                              2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};

const StudyRun* find_run(const std::vector<StudyRun>& runs, const PlannedRun& wanted) {
  const auto found = std::ranges::find_if(runs, [&](const StudyRun& run) { return wanted.is(run); });
  return found == runs.end() ? nullptr : &*found;
}

bool converged(const StudyTask& task, const StudyRun* run) {
  return run != nullptr && run->error.empty() && !has_diverged(task, *run);
}

/// On a straight line between the evaluations before and after, whose distance would be all of a small difference.
std::optional<double> updates_to_target(const StudyTask& task, const StudyRun& run) {
  const StudyPoint* before = nullptr;
  for (const StudyPoint& point : run.points) {
    const double quality = quality_of(task, point);
    if (task.by_accuracy ? quality >= task.target : quality <= task.target) {
      const auto at = static_cast<double>(point.update);
      if (before == nullptr) return at;
      const double from = quality_of(task, *before);
      const auto start = static_cast<double>(before->update);
      return start + (at - start) * (task.target - from) / (quality - from);
    }
    before = &point;
  }
  return std::nullopt;
}

std::optional<SeedMean> estimate_if_any(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(estimate(values));
}

/// What is measured of each run, seed by seed.
struct MeasuredRuns {
  std::vector<double> quality;
  std::vector<double> loss;
  std::vector<double> bleu;
  std::vector<double> gap;
  std::vector<double> to_target;
  std::vector<double> seconds;

  void fill(MethodFigures& figures) const {
    figures.quality = estimate_if_any(quality);
    figures.loss = estimate_if_any(loss);
    figures.bleu = estimate_if_any(bleu);
    figures.gap = estimate_if_any(gap);
    figures.to_target = estimate_if_any(to_target);
    figures.seconds = estimate_if_any(seconds);
  }
};

/// Of a run that ended well; `first`: the run of the first method with the same seed, or null.
void measure(MeasuredRuns& measured, const StudyTask& task, const StudyRun& run, const StudyRun* first) {
  const StudyPoint& last = run.points.back();
  measured.quality.push_back(quality_of(task, last));
  if (last.loss) measured.loss.push_back(*last.loss);
  if (last.bleu) measured.bleu.push_back(*last.bleu);
  if (!converged(task, first)) return;
  const double better = quality_of(task, first->points.back()) - measured.quality.back();
  measured.gap.push_back(task.by_accuracy ? better : -better);
}

}  // namespace

SeedMean estimate(const std::vector<double>& values) {
  SeedMean of{.count = static_cast<std::int64_t>(values.size())};
  const auto n = static_cast<double>(values.size());
  of.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return of;
  double squares = 0;
  for (const double value : values) squares += (value - of.mean) * (value - of.mean);
  const double t = values.size() - 2 < kStudent.size() ? kStudent[values.size() - 2] : 1.96;
  of.half_width = t * std::sqrt(squares / (n - 1) / n);
  return of;
}

MethodFigures figures_at(const Study& study, const std::vector<StudyRun>& runs, const StudyTask& task,
                         const StudyMethod& method, const StudySetting& setting) {
  MethodFigures figures{.task = &task, .method = &method, .setting = setting};
  const StudyMethod& first = study.methods.front();
  const std::optional<std::string> first_rate = best_rate(task, first, runs);
  MeasuredRuns measured;
  for (const StudyRun& run : runs) {
    if (!run.is(task, method) || run.setting != setting) continue;
    ++figures.runs;
    if (!run.error.empty()) {
      ++figures.failed;
      continue;
    }
    measured.seconds.push_back(run.seconds);
    if (const auto updates = updates_to_target(task, run)) measured.to_target.push_back(*updates);
    if (has_diverged(task, run)) {
      ++figures.diverged;
      continue;
    }
    const bool compared = first_rate && &method != &first;
    const PlannedRun same_seed{&task, &first, compared ? rule_setting(task, first, *first_rate) : StudySetting{},
                               run.seed};
    measure(measured, task, run, compared ? find_run(runs, same_seed) : nullptr);
  }
  measured.fill(figures);
  return figures;
}

std::vector<MethodFigures> best_figures(const Study& study, const std::vector<StudyRun>& runs, const StudyTask& task) {
  std::vector<MethodFigures> all;
  for (const StudyMethod& method : study.methods) {
    const std::optional<std::string> rate = best_rate(task, method, runs);
    if (!rate) continue;
    all.push_back(figures_at(study, runs, task, method, rule_setting(task, method, *rate)));
    all.back().bracketed = is_bracketed(task, method, runs);
  }
  return all;
}

const MethodFigures* figures_of(const std::vector<MethodFigures>& figures, const std::string& name) {
  const auto found = std::ranges::find_if(figures, [&](const MethodFigures& of) { return of.method->name == name; });
  return found == figures.end() ? nullptr : &*found;
}

StableRates stable_rates(const StudyTask& task, const StudyMethod& method, const std::vector<StudyRun>& runs) {
  StableRates rates;
  for (const std::string& rate : all_rates(task)) {
    const StudySetting setting = rule_setting(task, method, rate);
    bool tried = false;
    bool stable = true;
    for (const StudyRun& run : runs) {
      if (!run.is(task, method) || run.setting != setting || !run.error.empty()) continue;
      tried = true;
      stable = stable && !has_diverged(task, run);
    }
    if (!tried) continue;
    if (!stable) {
      rates.first_diverged = rate;
      return rates;
    }
    rates.highest = rate;
  }
  return rates;
}

double standard_error(double accuracy, double samples) { return std::sqrt(accuracy * (1 - accuracy) / samples); }

}  // namespace plumb
