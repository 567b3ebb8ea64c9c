#include "tools/measured_steps/job_choices.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "tools/measured_steps/step_scores.hpp"

namespace plumb {
namespace {

constexpr std::size_t kLeastWays = 3;

auto job_of(const MeasuredStep& row) {
  const std::int64_t batch = row.microbatch_size * row.num_microbatches * row.data_degree;
  return std::tuple(row.data, row.source, row.model, row.gpu, row.layers, row.hidden, row.sequence, row.vocabulary,
                    row.num_gpus, batch);
}

JobChoices choices_of(const std::vector<MeasuredJob>& jobs, const std::vector<double>& predicted_s,
                      std::vector<std::size_t> rows) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const std::size_t k : rows) {
    predicted.push_back(predicted_s[k]);
    measured.push_back(jobs[k].row.step_s);
  }
  const auto chosen = static_cast<std::size_t>(std::ranges::min_element(predicted) - predicted.begin());
  const double best = std::ranges::min(measured);
  JobChoices choices{.data = jobs[rows.front()].row.data, .rows = std::move(rows)};
  choices.rank_correlation = rank_correlation(predicted, measured);
  choices.fastest_found = measured[chosen] <= best;
  choices.regret = measured[chosen] / best - 1;
  return choices;
}

}  // namespace

std::vector<JobChoices> job_choices(const std::vector<MeasuredJob>& jobs, const std::vector<double>& predicted_s) {
  std::map<decltype(job_of({})), std::vector<std::size_t>> ways;
  for (std::size_t k = 0; k < jobs.size(); ++k) ways[job_of(jobs[k].row)].push_back(k);
  std::vector<JobChoices> found;
  for (auto& [job, rows] : ways) {
    if (rows.size() >= kLeastWays) found.push_back(choices_of(jobs, predicted_s, std::move(rows)));
  }
  return found;
}

ChoiceScore choice_score(const std::vector<JobChoices>& choices) {
  ChoiceScore score{.jobs = choices.size()};
  double ranked = 0;
  for (const JobChoices& one : choices) {
    if (!std::isnan(one.rank_correlation)) {
      score.rank_correlation += one.rank_correlation;
      ++ranked;
    }
    score.fastest_found += one.fastest_found ? 1 : 0;
    score.regret += one.regret / static_cast<double>(choices.size());
  }
  if (ranked > 0) score.rank_correlation /= ranked;
  return score;
}

}  // namespace plumb
