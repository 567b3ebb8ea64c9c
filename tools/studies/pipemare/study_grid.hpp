#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/reports/plot_page.hpp"
#include "tools/studies/pipemare/study_figures.hpp"

namespace plumb {

/// Held-out loss at the end over the learning rate, a line per method (mean over seeds, K and D by the rule).
Plot grid_plot(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs);

/// Final quality over the learning rate, likewise; diverged runs count as what they reached.
Plot grid_quality_plot(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs);

/// By what factor a delay of `tau` updates lowers the largest stable rate of one weight with a quadratic loss
/// (`plumbline stability`, sim/stability/stability.hpp), under a momentum.
double stability_bound(std::int32_t tau, double momentum);

/// Delay of the first stage in updates under the command; 0 for synchronous schedules.
double first_delay(const std::string& train_command);

/// By method: up to which rate it is stable and from which one it diverges, both as a share of the first method's, the
/// delay of its first stage, and what the theory's bound leaves of the synchronous rate with that delay.
PlotTable stability_table(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs);

/// Other K and D at the best rate of each method, where they were run.
PlotTable variants_table(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs);

/// What the study asks for and `runs` lack, in words: one line per task.
std::vector<std::string> missing_cells(const Study& study, const std::vector<StudyRun>& runs);

}  // namespace plumb
