#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/studies/pipemare/study.hpp"

namespace plumb {

/// What of a study is run.
struct StudySelection {
  std::vector<std::string> tasks;          ///< empty: all
  std::vector<std::string> methods;        ///< empty: all
  std::optional<std::int64_t> seeds = {};  ///< none: those of the study
  double minutes = 0;                      ///< no run begins later; 0: no limit
};

/// Throws `Error` for tasks and methods that the study does not have.
void check_selection(const Study& study, const StudySelection& selection);

/// Trains what is selected and not among `done`, several runs at once on all cores, seed by seed; tells progress on
/// standard error. Returns `done` and the new runs by task, method (in the study's order), seed. A run that cannot be
/// trained says so in its `error`. `save` is called after every run with all so far, one call at a time.
std::vector<StudyRun> run_study(const Study& study, const StudySelection& selection, std::vector<StudyRun> done,
                                const std::function<void(const std::vector<StudyRun>& runs)>& save);

}  // namespace plumb
