#include "tools/studies/public/public_checks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tools/measured_steps/job_choices.hpp"
#include "tools/measured_steps/step_scores.hpp"
#include "tools/studies/public/markdown_text.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

/// Predictions of one group, with and without its own rows in the fit.
struct Pairs {
  std::vector<double> measured;
  std::vector<double> predicted;
  std::vector<double> left_out;

  void add(double measured_s, double predicted_s, double left_out_s) {
    measured.push_back(measured_s);
    predicted.push_back(predicted_s);
    left_out.push_back(left_out_s);
  }
  StepScore shipped() const { return step_score(predicted, measured); }
  StepScore unseen() const { return step_score(left_out, measured); }
};

using Named = std::map<std::string, Pairs>;

std::string table_of(const Named& groups, const std::string& title) {
  std::vector<std::pair<std::string, Pairs>> order(groups.begin(), groups.end());
  std::ranges::stable_sort(
      order, [](const auto& a, const auto& b) { return a.second.unseen().mape > b.second.unseen().mape; });
  std::string text = markdown_row({title, "n", "error, left out", "bias, left out", "error", "bias"}) +
                     "|---|---:|---:|---:|---:|---:|\n";
  for (const auto& [name, pairs] : order) {
    const StepScore shipped = pairs.shipped();
    const StepScore unseen = pairs.unseen();
    text += markdown_row({name, std::to_string(shipped.rows), percent(unseen.mape), signed_percent(unseen.bias),
                          percent(shipped.mape), signed_percent(shipped.bias)});
  }
  return text + "\n";
}

Named steps(const PublicResults& results) {
  Named groups;
  for (std::size_t k = 0; k < results.jobs.size(); ++k) {
    const MeasuredStep& row = results.jobs[k].row;
    groups[public_group(row)].add(row.step_s, results.predicted_s[k], results.left_out_s[k]);
  }
  return groups;
}

Named stages(const PublicResults& results) {
  Named groups;
  for (std::size_t k = 0; k < results.passes.size(); ++k) {
    const StagePassOfJob& pass = results.passes[k];
    const MeasuredStep& row = results.jobs[pass.job].row;
    std::string name = public_group(row);
    if (pass.measured.stage) {
      const bool last = *pass.measured.stage + 1 == static_cast<std::size_t>(row.pipeline);
      name += ", sequence " + std::to_string(row.sequence) + (last ? ", stage with the head" : "");
    }
    name += ", " + std::string(1, pass.measured.pass);
    groups[name].add(pass.measured.seconds, results.predicted_passes_s[k], results.left_out_passes_s[k]);
  }
  return groups;
}

std::string choices_table(const PublicResults& results) {
  std::map<std::string, std::vector<JobChoices>> by_data;
  for (JobChoices& one : job_choices(results.jobs, results.left_out_s)) by_data[one.data].push_back(std::move(one));
  std::string text = markdown_row({"ways to run one job (constants left out)", "jobs", "rank correlation inside a job",
                                   "fastest found", "the chosen one is slower than the fastest by"}) +
                     "|---|---:|---:|---:|---:|\n";
  for (const auto& [data, choices] : by_data) {
    const ChoiceScore score = choice_score(choices);
    text += markdown_row({data, std::to_string(score.jobs), fixed_text(score.rank_correlation, 3),
                          std::to_string(score.fastest_found) + " of " + std::to_string(score.jobs),
                          percent(score.regret)});
  }
  return text + "\n";
}

}  // namespace

std::string public_checks(const PublicResults& results) {
  return table_of(steps(results), "step times, weakest first") + table_of(stages(results), "times of stages") +
         choices_table(results);
}

}  // namespace plumb
