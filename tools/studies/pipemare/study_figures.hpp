#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/studies/pipemare/study.hpp"

namespace plumb {

/// A mean over seeds with the half width of its 95 % interval (Student's t).
struct SeedMean {
  std::int64_t count = 0;
  double mean = 0;
  std::optional<double> half_width = {};  ///< none for fewer than two values
};

SeedMean estimate(const std::vector<double>& values);

/// What the runs of one method on one task came to.
struct MethodFigures {
  const StudyTask* task = nullptr;
  const StudyMethod* method = nullptr;
  std::int64_t runs = 0;
  std::int64_t diverged = 0;
  std::int64_t failed = 0;                 ///< could not be trained
  std::optional<SeedMean> quality = {};    ///< at the end, of the runs that did not diverge
  std::optional<SeedMean> gap = {};        ///< by how much the first method is better, seed by seed, of the same runs
  std::optional<SeedMean> to_target = {};  ///< updates until the target, of the runs that reach it
  std::optional<SeedMean> seconds = {};
};

/// By task, then method; without those that have no runs. `study` must outlive the result.
std::vector<MethodFigures> study_figures(const Study& study, const std::vector<StudyRun>& runs);

/// Accuracy, or loss (the held-out one where there is one).
double quality_of(const StudyTask& task, const StudyPoint& point);

}  // namespace plumb
