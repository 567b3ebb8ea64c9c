#pragma once

#include <string>
#include <vector>

#include "tools/measured_steps/measured_job.hpp"

namespace plumb {

/// Ways of running one job that were all measured: schedules, or layouts over the same devices and batch. What a user
/// asks is which of them is fastest.
struct JobChoices {
  std::string data;               ///< data set of its rows
  std::vector<std::size_t> rows;  ///< at least three, by position
  double rank_correlation = 0;    ///< rank correlation of predicted and measured times
  bool fastest_found = false;     ///< the fastest predicted is the fastest measured (or ties with it)
  double regret = 0;              ///< measured time of the fastest predicted over that of the fastest, less 1
};

/// Returns the jobs among `jobs` that were run in three ways or more, by position. Rows are of one job when they agree
/// in source, model, devices, tokens and samples of a step.
std::vector<JobChoices> job_choices(const std::vector<MeasuredJob>& jobs, const std::vector<double>& predicted_s);

/// What choices of a data set come to together.
struct ChoiceScore {
  std::size_t jobs = 0;
  double rank_correlation = 0;  ///< mean
  std::size_t fastest_found = 0;
  double regret = 0;  ///< mean
};

ChoiceScore choice_score(const std::vector<JobChoices>& choices);

}  // namespace plumb
