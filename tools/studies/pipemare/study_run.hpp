#pragma once

#include <functional>
#include <vector>

#include "tools/studies/pipemare/study_plan.hpp"

namespace plumb {

/// Trains what `planned_runs` asks for until nothing is left, several runs at once; tells progress on standard error.
/// Returns `done` and the new runs by task, method (in the study's order), rate, K, D, seed. A run that cannot be
/// trained says so in its `error`. `save` is called after every run with all so far, one call at a time.
std::vector<StudyRun> run_study(const Study& study, const StudySelection& selection, std::vector<StudyRun> done,
                                const std::function<void(const std::vector<StudyRun>& runs)>& save);

}  // namespace plumb
