#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/studies/pipemare/study.hpp"
#include "tools/studies/pipemare/study_runs.hpp"

namespace plumb {

/// What of a study is run.
struct StudySelection {
  std::vector<std::string> tasks;          ///< empty: all
  std::vector<std::string> methods;        ///< empty: all
  std::optional<std::int64_t> seeds = {};  ///< at most so many of each setting; none: those of the study
  double minutes = 0;                      ///< no run begins later; 0: no limit
  std::int64_t jobs = 0;                   ///< runs at once; 0: as many as there are cores
};

/// Throws `Error` for tasks and methods that the study does not have.
void check_selection(const Study& study, const StudySelection& selection);

/// A run that is to be done.
struct PlannedRun {
  const StudyTask* task = nullptr;
  const StudyMethod* method = nullptr;
  StudySetting setting;
  std::int64_t seed = 0;

  bool is(const StudyRun& run) const;
};

/// The runs that are still to be done as far as `runs` let us know, the most valuable first, so that a study that is
/// stopped at any time has a usable table:
///
/// 1. every method at every rate of the grid with one seed, the rates in the middle first; where the best rate of a
///    method lies at the edge, further rates until it does not;
/// 2. two more seeds at the best rate of each method;
/// 3. the second seed (`grid_seeds`) at all rates;
/// 4. all `seeds` at the best rate;
/// 5. the other K and D at the best rate, with `grid_seeds` seeds.
///
/// In each of these, task after task. A method whose runs for 1 are not all known has no best rate yet.
std::vector<PlannedRun> planned_runs(const Study& study, const StudySelection& selection,
                                     const std::vector<StudyRun>& runs);

/// The rate at which a method does best on a task, of those with runs (K and D by the rule): by the mean quality over
/// the seeds, where diverged runs count as the worst; of equal ones the one with the lower held-out loss. None without
/// runs.
std::optional<std::string> best_rate(const StudyTask& task, const StudyMethod& method,
                                     const std::vector<StudyRun>& runs);

/// Whether that rate has tried neighbours on both sides.
bool is_bracketed(const StudyTask& task, const StudyMethod& method, const std::vector<StudyRun>& runs);

/// Rates of the grid and further ones, ascending.
std::vector<std::string> all_rates(const StudyTask& task);

}  // namespace plumb
