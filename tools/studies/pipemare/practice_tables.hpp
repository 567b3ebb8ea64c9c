#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/reports/plot_page.hpp"
#include "tools/studies/pipemare/study_figures.hpp"

namespace plumb {

/// Bytes of weights, their versions and corrections, gradients and optimizer state of all stages, under a command.
std::int64_t trained_bytes(const std::string& train_command);

/// How many times the updates of the first method another needs to the task's target; none where one never gets there
/// in most of its runs.
std::optional<double> update_factor(const MethodFigures& first, const MethodFigures& of);

/// The same quality in three currencies: updates to the target; simulated time to it at several numbers of stages (in
/// times that of the first method, N of the task; the updates are those measured at the task's stages); and that time
/// times the bytes of `trained_bytes`. Rows for 1F1B and zero-bubble, whose weights are those of the first method.
PlotTable currency_table(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs);

/// The factor of the better of the methods `names` on each task where both get to the target, at rates that are
/// bracketed.
struct FactorRange {
  double least = 0;
  double most = 0;
  std::int64_t tasks = 0;
};

std::optional<FactorRange> factor_range(const Study& study, const std::vector<StudyRun>& runs,
                                        const std::vector<std::string>& names);

/// When to take PipeMare against 1F1B, zero-bubble and 2BW: over stages and microbatches the simulated time of an
/// update over that without idle time, the stashes of the fullest device, how many more updates PipeMare may need at
/// most, and what follows from `measured`, what it did need.
PlotTable practice_table(const std::optional<FactorRange>& measured);

}  // namespace plumb
