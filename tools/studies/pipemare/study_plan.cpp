#include "tools/studies/pipemare/study_plan.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <tuple>

#include "models/ground/error.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// Seeds of step 2.
constexpr std::int64_t kFirstSeedsAtBest = 3;
constexpr std::size_t kSteps = 5;

bool is_chosen(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

template <class Row>
void require_known(const std::vector<std::string>& names, const std::vector<Row>& rows, std::string_view what) {
  std::vector<std::string_view> known;
  for (const Row& row : rows) known.push_back(row.name);
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) throw_unknown(what, name, known);
  }
}

/// Smaller is better.
using Score = std::tuple<double, double>;

Score score_of(const StudyTask& task, const StudyRun& run) {
  if (!run.error.empty() || has_diverged(task, run)) {
    const double worst = task.by_accuracy ? 0 : 1e9;
    return {task.by_accuracy ? -worst : worst, 1e9};
  }
  const StudyPoint& last = run.points.back();
  const double quality = quality_of(task, last);
  return {task.by_accuracy ? -quality : quality, last.loss.value_or(last.train_loss)};
}

/// Mean over the seeds; none without runs.
std::optional<Score> score_at(const StudyTask& task, const StudyMethod& method, const std::string& rate,
                              const std::vector<StudyRun>& runs) {
  const StudySetting setting = rule_setting(task, method, rate);
  double quality = 0;
  double loss = 0;
  int count = 0;
  for (const StudyRun& run : runs) {
    if (!run.is(task, method) || run.setting != setting) continue;
    const auto [a, b] = score_of(task, run);
    quality += a;
    loss += b;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return Score{quality / count, loss / count};
}

/// The middle of a list first, then its neighbours, outwards.
std::vector<std::string> from_the_middle(const std::vector<std::string>& rates) {
  std::vector<std::string> ordered;
  const auto size = static_cast<std::ptrdiff_t>(rates.size());
  const std::ptrdiff_t middle = size / 2;
  for (std::ptrdiff_t away = 0; away <= size; ++away) {
    for (const std::ptrdiff_t at : {middle - away, middle + away}) {
      if (at < 0 || at >= size || (away == 0 && at != middle)) continue;
      if (std::ranges::find(ordered, rates[static_cast<std::size_t>(at)]) == ordered.end()) {
        ordered.push_back(rates[static_cast<std::size_t>(at)]);
      }
    }
  }
  return ordered;
}

/// What is wanted of one method on one task, by step.
class MethodPlan {
 public:
  MethodPlan(const Study& study, const StudyTask& task, const StudyMethod& method, const std::vector<StudyRun>& runs)
      : seeds_(task.seeds.value_or(study.seeds)),
        grid_seeds_(task.grid_seeds.value_or(study.grid_seeds)),
        task_(task),
        method_(method),
        runs_(runs) {}

  /// Adds to `steps`, whose elements are lists of runs.
  void add_to(std::array<std::vector<PlannedRun>, kSteps>& steps) {
    std::size_t missing = 0;
    for (const std::string& rate : from_the_middle(task_.rates)) {
      missing += want(steps[0], rule_setting(task_, method_, rate), 0);
    }
    if (missing > 0) return;
    if (const std::optional<std::string> rate = beyond_the_edge()) {
      want(steps[0], rule_setting(task_, method_, *rate), 0);
      return;
    }
    const std::string best = *best_rate(task_, method_, runs_);
    const StudySetting at_best = rule_setting(task_, method_, best);
    for (std::int64_t seed = 1; seed < std::min(kFirstSeedsAtBest, seeds_); ++seed) {
      want(steps[1], at_best, seed);
    }
    for (const std::string& rate : tried()) {
      if (rate == best) continue;
      for (std::int64_t seed = 1; seed < grid_seeds_; ++seed) {
        want(steps[2], rule_setting(task_, method_, rate), seed);
      }
    }
    for (std::int64_t seed = kFirstSeedsAtBest; seed < seeds_; ++seed) want(steps[3], at_best, seed);
    for (const StudySetting& setting : other_settings(task_, method_, best)) {
      for (std::int64_t seed = 0; seed < grid_seeds_; ++seed) want(steps[4], setting, seed);
    }
  }

 private:
  std::size_t want(std::vector<PlannedRun>& step, const StudySetting& setting, std::int64_t seed) const {
    const PlannedRun planned{&task_, &method_, setting, seed};
    if (std::ranges::any_of(runs_, [&](const StudyRun& run) { return planned.is(run); })) return 0;
    step.push_back(planned);
    return 1;
  }

  std::vector<std::string> tried() const {
    std::vector<std::string> rates = all_rates(task_);
    std::erase_if(rates, [&](const std::string& rate) { return !score_at(task_, method_, rate, runs_); });
    return rates;
  }

  /// The next further rate where the best one is the lowest or the highest that was tried; none where it is not, or
  /// where there is no further one.
  std::optional<std::string> beyond_the_edge() const {
    const std::vector<std::string> known = tried();
    const std::vector<std::string> rates = all_rates(task_);
    const std::string best = *best_rate(task_, method_, runs_);
    const auto at = std::ranges::find(rates, best);
    if (best == known.front() && at != rates.begin()) return *(at - 1);
    if (best == known.back() && at + 1 != rates.end()) return *(at + 1);
    return std::nullopt;
  }

  std::int64_t seeds_;
  std::int64_t grid_seeds_;
  const StudyTask& task_;
  const StudyMethod& method_;
  const std::vector<StudyRun>& runs_;
};

}  // namespace

bool PlannedRun::is(const StudyRun& run) const {
  return run.is(*task, *method) && run.setting == setting && run.seed == seed;
}

void check_selection(const Study& study, const StudySelection& selection) {
  require_known(selection.tasks, study.tasks, "task");
  require_known(selection.methods, study.methods, "method");
}

std::vector<std::string> all_rates(const StudyTask& task) {
  std::vector<std::string> rates = task.rates;
  for (const std::string& rate : task.further_rates) {
    if (std::ranges::find(rates, rate) == rates.end()) rates.push_back(rate);
  }
  std::ranges::stable_sort(rates, {}, [](const std::string& rate) { return parse_real(rate, "learning rate"); });
  return rates;
}

std::optional<std::string> best_rate(const StudyTask& task, const StudyMethod& method,
                                     const std::vector<StudyRun>& runs) {
  std::optional<std::string> best;
  Score least{std::numeric_limits<double>::max(), 0};
  for (const std::string& rate : all_rates(task)) {
    const std::optional<Score> score = score_at(task, method, rate, runs);
    if (!score || !(*score < least)) continue;
    best = rate;
    least = *score;
  }
  return best;
}

bool is_bracketed(const StudyTask& task, const StudyMethod& method, const std::vector<StudyRun>& runs) {
  const std::optional<std::string> best = best_rate(task, method, runs);
  if (!best) return false;
  bool below = false;
  bool above = false;
  bool passed = false;
  for (const std::string& rate : all_rates(task)) {
    if (rate == *best) {
      passed = true;
      continue;
    }
    if (!score_at(task, method, rate, runs)) continue;
    (passed ? above : below) = true;
  }
  return below && above;
}

std::vector<PlannedRun> planned_runs(const Study& study, const StudySelection& selection,
                                     const std::vector<StudyRun>& runs) {
  std::array<std::vector<PlannedRun>, kSteps> steps;
  for (const StudyTask& task : study.tasks) {
    if (!is_chosen(selection.tasks, task.name)) continue;
    std::array<std::vector<PlannedRun>, kSteps> of_task;
    for (const StudyMethod& method : study.methods) {
      if (!is_chosen(selection.methods, method.name) || !method.is_tried_on(task)) continue;
      MethodPlan(study, task, method, runs).add_to(of_task);
    }
    // All methods at one rate before the next one.
    const std::vector<std::string> order = from_the_middle(task.rates);
    std::ranges::stable_sort(of_task[0], {}, [&](const PlannedRun& run) {
      return std::ranges::find(order, run.setting.rate) - order.begin();
    });
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::ranges::stable_sort(of_task[step], {}, &PlannedRun::seed);
      steps[step].insert(steps[step].end(), of_task[step].begin(), of_task[step].end());
    }
  }
  std::vector<PlannedRun> all;
  for (const auto& step : steps) all.insert(all.end(), step.begin(), step.end());
  std::erase_if(all, [&](const PlannedRun& run) { return selection.seeds && run.seed >= *selection.seeds; });
  return all;
}

}  // namespace plumb
