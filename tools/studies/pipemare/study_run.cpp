#include "tools/studies/pipemare/study_run.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "models/ground/error.hpp"
#include "tools/terminal/progress.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/words.hpp"
#include "tools/training/train_run.hpp"

namespace plumb {
namespace {

using Clock = std::chrono::steady_clock;

/// Points of a run that is not evaluated.
constexpr std::int64_t kPoints = 20;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// At every evaluation; without any, at equal distances.
std::vector<StudyPoint> points_of(const TrainResult& result) {
  const auto updates = static_cast<std::int64_t>(result.losses.size());
  std::vector<StudyPoint> points;
  const auto add = [&](std::int64_t update) {
    const std::int64_t begin = points.empty() ? 0 : points.back().update;
    if (update <= begin) return false;
    const auto first = result.losses.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = result.losses.begin() + static_cast<std::ptrdiff_t>(update);
    const double mean = std::accumulate(first, last, 0.0) / static_cast<double>(update - begin);
    points.push_back({.update = update, .train_loss = mean});
    return true;
  };
  for (const Evaluation& evaluation : result.evaluations) {
    if (!add(evaluation.update)) continue;
    points.back().loss = evaluation.loss;
    points.back().accuracy = evaluation.accuracy;
  }
  for (std::int64_t k = 1; result.evaluations.empty() && k <= kPoints; ++k) add(updates * k / kPoints);
  return points;
}

StudyRun train_one(const PlannedRun& planned) {
  StudyRun run;
  run.task = planned.task->name;
  run.method = planned.method->name;
  run.setting = planned.setting;
  run.seed = planned.seed;
  const Clock::time_point start = Clock::now();
  try {
    const std::string command = study_command(*planned.task, *planned.method, planned.setting);
    run.command = command_mark(command);
    TrainRun training = parse_train_run(command + " --seed " + std::to_string(planned.seed));
    training.options.observation.memory_curve = false;
    const TriedRun tried = train_and_try(training.options, training.trial);
    run.points = points_of(tried.result);
    if (tried.translation && !run.points.empty()) run.points.back().bleu = tried.translation->bleu;
  } catch (const Error& error) {
    run.error = error.what();
  }
  run.seconds = seconds_since(start);
  return run;
}

template <class Row>
std::size_t place_of(const std::vector<Row>& rows, const std::string& name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return static_cast<std::size_t>(found - rows.begin());
}

double number_or_0(const std::string& text) { return text.empty() ? 0 : parse_real(text, "setting"); }

void sort_runs(std::vector<StudyRun>& runs, const Study& study) {
  std::ranges::stable_sort(runs, {}, [&](const StudyRun& run) {
    return std::tuple(place_of(study.tasks, run.task), place_of(study.methods, run.method),
                      number_or_0(run.setting.rate), number_or_0(run.setting.k), number_or_0(run.setting.d), run.seed);
  });
}

auto is_like(const PlannedRun& run) {
  return [&run](const PlannedRun& other) {
    return run.task == other.task && run.method == other.method && run.seed == other.seed &&
           run.setting == other.setting;
  };
}

/// What several workers share: the runs that are done, and those that are being done.
class RunQueue {
 public:
  RunQueue(const Study& study, const StudySelection& selection, std::vector<StudyRun>& done)
      : study_(study), selection_(selection), done_(done) {}

  /// The most valuable run that nobody has begun; waits where that depends on runs that are not done yet. None at the
  /// end, and after the time limit.
  std::optional<PlannedRun> take() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (selection_.minutes > 0 && seconds_since(start_) > 60 * selection_.minutes) return std::nullopt;
      std::vector<PlannedRun> planned = planned_runs(study_, selection_, done_);
      left_ = planned.size();
      std::erase_if(planned, [&](const PlannedRun& run) { return std::ranges::any_of(begun_, is_like(run)); });
      if (!planned.empty()) {
        begun_.push_back(planned.front());
        return planned.front();
      }
      if (begun_.empty()) return std::nullopt;
      changed_.wait(lock);
    }
  }

  void finish(const PlannedRun& planned, StudyRun run,
              const std::function<void(const std::vector<StudyRun>& runs)>& save) {
    const std::lock_guard lock(mutex_);
    ++finished_;
    std::string what = run.task + " " + run.method + " " + run.setting.rate;
    for (const std::string* value : {&run.setting.k, &run.setting.d}) what += value->empty() ? "" : " " + *value;
    what += " seed " + std::to_string(run.seed) + ", " + fixed_text(run.seconds, 1) + " s";
    if (!run.error.empty()) what += ", " + run.error;
    progress_.show(finished_, finished_ + static_cast<std::int64_t>(left_) - 1, what);
    std::erase_if(begun_, is_like(planned));
    done_.push_back(std::move(run));
    sort_runs(done_, study_);
    save(done_);
    changed_.notify_all();
  }

 private:
  const Study& study_;
  const StudySelection& selection_;
  std::vector<StudyRun>& done_;
  std::vector<PlannedRun> begun_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Progress progress_{"study"};
  std::int64_t finished_ = 0;
  std::size_t left_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::vector<StudyRun> run_study(const Study& study, const StudySelection& selection, std::vector<StudyRun> done,
                                const std::function<void(const std::vector<StudyRun>& runs)>& save) {
  check_selection(study, selection);
  RunQueue queue(study, selection, done);
  const auto work = [&](int) {
    while (const std::optional<PlannedRun> planned = queue.take()) queue.finish(*planned, train_one(*planned), save);
  };
  const int cores = tbb::this_task_arena::max_concurrency();
  const auto jobs = selection.jobs > 0 ? static_cast<int>(std::min<std::int64_t>(selection.jobs, cores)) : cores;
  if (jobs == 1) {
    work(0);
  } else {
    tbb::parallel_for(0, jobs, work);
  }
  return done;
}

}  // namespace plumb
