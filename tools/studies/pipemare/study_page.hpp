#pragma once

#include <string>
#include <vector>

#include "tools/reports/plot_page.hpp"
#include "tools/studies/pipemare/model_study.hpp"
#include "tools/studies/pipemare/study_runs.hpp"

namespace plumb {

/// The page of the study in the order in which a reader asks: the answer with a picture, the bests, the grid over
/// learning rates beside the theory's bound, the paper's statements, when to take PipeMare, three currencies, the
/// curves, the model, the methods with their commands, and what was not run. `clusters`: to simulate times on instead
/// of those of the tasks.
PlotPage study_page(const ModelStudy& models, const Study& study, const std::vector<StudyRun>& runs,
                    const std::vector<std::string>& clusters);

}  // namespace plumb
