#include "tools/studies/pipemare/study_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace plumb {
namespace {

/// 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom; beyond them 1.96 is close enough.
constexpr std::array kStudent{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                              2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};

const StudyRun* find_run(const std::vector<StudyRun>& runs, const StudyTask& task, const StudyMethod& method,
                         std::int64_t seed) {
  const auto found = std::ranges::find_if(runs, [&](const StudyRun& run) {
    return run.task == task.name && run.method == method.name && run.seed == seed;
  });
  return found == runs.end() ? nullptr : &*found;
}

bool converged(const StudyRun* run) { return run != nullptr && run->error.empty() && !run->diverged(); }

std::optional<std::int64_t> updates_to_target(const StudyTask& task, const StudyRun& run) {
  for (const StudyPoint& point : run.points) {
    const double quality = quality_of(task, point);
    if (task.by_accuracy ? quality >= task.target : quality <= task.target) return point.update;
  }
  return std::nullopt;
}

std::optional<SeedMean> estimate_if_any(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(estimate(values));
}

MethodFigures figures_of(const Study& study, const std::vector<StudyRun>& runs, const StudyTask& task,
                         const StudyMethod& method) {
  MethodFigures figures{.task = &task, .method = &method};
  std::vector<double> quality;
  std::vector<double> gap;
  std::vector<double> to_target;
  std::vector<double> seconds;
  for (const StudyRun& run : runs) {
    if (run.task != task.name || run.method != method.name) continue;
    ++figures.runs;
    if (!run.error.empty()) {
      ++figures.failed;
      continue;
    }
    seconds.push_back(run.seconds);
    if (const auto updates = updates_to_target(task, run)) to_target.push_back(static_cast<double>(*updates));
    if (run.diverged()) {
      ++figures.diverged;
      continue;
    }
    quality.push_back(quality_of(task, run.points.back()));
    const StudyRun* first = find_run(runs, task, study.methods.front(), run.seed);
    if (&method == &study.methods.front() || !converged(first)) continue;
    const double better = quality_of(task, first->points.back()) - quality.back();
    gap.push_back(task.by_accuracy ? better : -better);
  }
  figures.quality = estimate_if_any(quality);
  figures.gap = estimate_if_any(gap);
  figures.to_target = estimate_if_any(to_target);
  figures.seconds = estimate_if_any(seconds);
  return figures;
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

double quality_of(const StudyTask& task, const StudyPoint& point) {
  if (task.by_accuracy) return point.accuracy.value_or(0);
  return point.loss.value_or(point.train_loss);
}

std::vector<MethodFigures> study_figures(const Study& study, const std::vector<StudyRun>& runs) {
  std::vector<MethodFigures> all;
  for (const StudyTask& task : study.tasks) {
    for (const StudyMethod& method : study.methods) {
      MethodFigures figures = figures_of(study, runs, task, method);
      if (figures.runs > 0) all.push_back(figures);
    }
  }
  return all;
}

}  // namespace plumb
