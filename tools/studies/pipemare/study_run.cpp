#include "tools/studies/pipemare/study_run.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>
#include <string_view>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "models/ground/error.hpp"
#include "tools/terminal/progress.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/training/train_run.hpp"

namespace plumb {
namespace {

using Clock = std::chrono::steady_clock;

/// Points of a run that is not evaluated.
constexpr std::int64_t kPoints = 20;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A run that is to be done.
struct Planned {
  const StudyTask* task = nullptr;
  const StudyMethod* method = nullptr;
  std::int64_t seed = 0;
};

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

/// Seed by seed, so that a run cut short has all methods.
std::vector<Planned> plan(const Study& study, const StudySelection& selection, const std::vector<StudyRun>& done) {
  std::vector<Planned> runs;
  for (std::int64_t seed = 0; seed < selection.seeds.value_or(study.seeds); ++seed) {
    for (const StudyTask& task : study.tasks) {
      for (const StudyMethod& method : study.methods) {
        const auto same = [&](const StudyRun& run) {
          return run.task == task.name && run.method == method.name && run.seed == seed;
        };
        const bool chosen = is_chosen(selection.tasks, task.name) && is_chosen(selection.methods, method.name);
        if (chosen && std::ranges::none_of(done, same)) runs.push_back({&task, &method, seed});
      }
    }
  }
  return runs;
}

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

StudyRun train_one(const Planned& planned) {
  StudyRun run;
  run.task = planned.task->name;
  run.method = planned.method->name;
  run.seed = planned.seed;
  const Clock::time_point start = Clock::now();
  try {
    const std::string command = study_command(*planned.task, *planned.method);
    TrainRun training = parse_train_run(command + " --seed " + std::to_string(planned.seed));
    training.options.memory_curve = false;
    run.points = points_of(train(training.options));
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

void sort_runs(std::vector<StudyRun>& runs, const Study& study) {
  std::ranges::stable_sort(runs, {}, [&](const StudyRun& run) {
    return std::tuple(place_of(study.tasks, run.task), place_of(study.methods, run.method), run.seed);
  });
}

}  // namespace

void check_selection(const Study& study, const StudySelection& selection) {
  require_known(selection.tasks, study.tasks, "task");
  require_known(selection.methods, study.methods, "method");
}

std::vector<StudyRun> run_study(const Study& study, const StudySelection& selection, std::vector<StudyRun> done,
                                const std::function<void(const std::vector<StudyRun>& runs)>& save) {
  check_selection(study, selection);
  const std::vector<Planned> runs = plan(study, selection, done);
  Progress progress("study");
  std::mutex mutex;
  std::size_t next = 0;
  std::int64_t finished = 0;
  const Clock::time_point start = Clock::now();
  const auto work = [&](int) {
    for (;;) {
      std::unique_lock lock(mutex);
      if (next == runs.size() || (selection.minutes > 0 && seconds_since(start) > 60 * selection.minutes)) return;
      const Planned& planned = runs[next++];
      lock.unlock();
      StudyRun run = train_one(planned);
      lock.lock();
      progress.show(
          ++finished, static_cast<std::int64_t>(runs.size()),
          run.task + " " + run.method + " " + std::to_string(run.seed) + ", " + fixed_text(run.seconds, 1) + " s");
      done.push_back(std::move(run));
      sort_runs(done, study);
      save(done);
    }
  };
  tbb::parallel_for(0, tbb::this_task_arena::max_concurrency(), work);
  return done;
}

}  // namespace plumb
