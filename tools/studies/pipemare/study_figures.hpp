#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/studies/pipemare/study_plan.hpp"

namespace plumb {

/// A mean over seeds with the half width of its 95 % interval (Student's t).
struct SeedMean {
  std::int64_t count = 0;
  double mean = 0;
  std::optional<double> half_width = {};  ///< none for fewer than two values
};

SeedMean estimate(const std::vector<double>& values);

/// What the runs of one method on one task came to at one setting.
struct MethodFigures {
  const StudyTask* task = nullptr;
  const StudyMethod* method = nullptr;
  StudySetting setting;
  bool bracketed = false;  ///< worse rates were tried on both sides of the best one
  std::int64_t runs = 0;
  std::int64_t diverged = 0;
  std::int64_t failed = 0;                 ///< could not be trained
  std::optional<SeedMean> quality = {};    ///< at the end, of the runs that did not diverge
  std::optional<SeedMean> loss = {};       ///< held out, likewise
  std::optional<SeedMean> bleu = {};       ///< likewise, where sentences are translated
  std::optional<SeedMean> gap = {};        ///< by how much the first method at its best is better, seed by seed
  std::optional<SeedMean> to_target = {};  ///< updates until the target, of the runs that reach it
  std::optional<SeedMean> seconds = {};
};

/// At one setting. `study` must outlive the result.
MethodFigures figures_at(const Study& study, const std::vector<StudyRun>& runs, const StudyTask& task,
                         const StudyMethod& method, const StudySetting& setting);

/// Every method at its best rate on the task, K and D by the rule; without those that have no runs.
std::vector<MethodFigures> best_figures(const Study& study, const std::vector<StudyRun>& runs, const StudyTask& task);

/// Of those, the one of `name`; null: it has no runs.
const MethodFigures* figures_of(const std::vector<MethodFigures>& figures, const std::string& name);

/// The highest rate at which no run diverged and below which none did, and the lowest at which one did, of those
/// tried with K and D by the rule. None where there is no such rate.
struct StableRates {
  std::optional<std::string> highest;
  std::optional<std::string> first_diverged;
};

StableRates stable_rates(const StudyTask& task, const StudyMethod& method, const std::vector<StudyRun>& runs);

/// One standard error of a share `accuracy` among so many independent samples.
double standard_error(double accuracy, double samples);

}  // namespace plumb
