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

/// What staleness cost on one task: how many times the updates of the first method were needed to the target.
struct MeasuredFactor {
  const StudyTask* task = nullptr;
  double delay = 0;     ///< of the first stage, in updates
  double factor = 0;    ///< of the better of the methods that were asked for
  bool reached = true;  ///< otherwise none of them got there, and the factor is what was given to them: at least that
};

/// For each task whose first method has found its best rate and reaches the target there: the factor of the better of
/// the methods `names`, by their delay, ascending. Rates that are not bracketed do not count.
std::vector<MeasuredFactor> measured_factors(const Study& study, const std::vector<StudyRun>& runs,
                                             const std::vector<std::string>& names);

/// "1.24x at a delay of 1.9 updates (sequences-8), more than 2x at ...".
std::string factors_text(const std::vector<MeasuredFactor>& measured);

/// When to take PipeMare against 1F1B, zero-bubble and 2BW: over stages and microbatches the simulated time of an
/// update over that without idle time, the stashes of the fullest device, how many times the updates PipeMare may need
/// at most, how many it needed at the nearest delays that were measured, and what follows.
PlotTable practice_table(const std::vector<MeasuredFactor>& measured);

}  // namespace plumb
