#include "tools/studies/pipemare/practice_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <tbb/parallel_for.h>

#include "models/stages/network_costs.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/versions/delays.hpp"
#include "tools/studies/pipemare/simulated_models.hpp"
#include "tools/studies/pipemare/study_grid.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/words.hpp"
#include "tools/training/train_run.hpp"

namespace plumb {
namespace {

/// Numbers of stages: a machine, two of them, and what the paper and our tasks have.
constexpr std::array<std::int32_t, 6> kStages{8, 16, 33, 43, 93, 107};
constexpr std::array<std::int32_t, 4> kPracticeStages{8, 16, 43, 107};
constexpr std::array<std::int64_t, 4> kPracticeMicrobatches{8, 32, 128, 512};

bool is_asynchronous(const std::string& command) { return command.find("timing=slots") != std::string::npos; }

/// The whole number after `option` in a command; 1 without it.
std::int64_t number_after(const std::string& option, const std::string& command) {
  const std::vector<std::string> words = words_after("train", command);
  const auto found = std::ranges::find(words, option);
  return found == words.end() ? 1 : parse_whole(*(found + 1), {.least = 1}, "study");
}

std::int64_t microbatches_of(const std::string& command) { return number_after("-m", command); }

double updates_of(const std::string& command) { return static_cast<double>(number_after("--steps", command)); }

/// Updates that T3 runs synchronously.
double flushed_updates(const StudyTask& task, const StudyMethod& method) {
  const auto w = task.words.find("W");
  if (w == task.words.end() || method.arguments.find("t3:") == std::string::npos) return 0;
  return parse_real(w->second, "study");
}

/// Time of so many updates over that of one without idle time.
struct UpdateTimes {
  double flushed = 1;      ///< of GPipe
  double one_f_one_b = 1;  ///< of 1F1B
  double zero_bubble = 1;  ///< of ZB-H1, which has the memory of 1F1B
  double flush_free = 1;   ///< of PipeMare
};

UpdateTimes update_times(std::int32_t stages, std::int64_t microbatches) {
  return {.flushed = 1 / simulated_utilization({"gpipe", stages, microbatches, {}}),
          .one_f_one_b = 1 / simulated_utilization({"1f1b", stages, microbatches, {}}),
          .zero_bubble = 1 / simulated_utilization({"zb-h1", stages, microbatches, {}}),
          .flush_free = 1 / simulated_utilization({"pipemare", stages, microbatches, {{"timing", "slots"}}})};
}

double time_of(const StudyTask& task, const MethodFigures& of, const UpdateTimes& times) {
  const double updates = of.to_target->mean;
  if (!is_asynchronous(of.method->arguments)) return updates * times.flushed;
  const double flushed = std::min(updates, flushed_updates(task, *of.method));
  return flushed * times.flushed + (updates - flushed) * times.flush_free;
}

bool mostly_reached(const MethodFigures& of) { return of.to_target && 2 * of.to_target->count > of.runs; }

struct PracticeCase {
  std::int32_t stages = 0;
  std::int64_t microbatches = 0;
  UpdateTimes times;
  double zb_h2 = 0;
  double stashes_1f1b = 0;
  double stashes_zb_h2 = 0;
  double stashes_slots = 0;

  double best_time() const { return std::min({times.one_f_one_b, times.zero_bubble, zb_h2}); }

  /// Of equally fast ones the one with less memory.
  std::string best_synchronous() const {
    if (times.one_f_one_b <= best_time()) return "1F1B";
    return times.zero_bubble <= best_time() ? "ZB-H1" : "ZB-H2";
  }
  /// Of the first stage, in updates.
  double delay() const { return (2.0 * stages - 1) / static_cast<double>(microbatches); }
};

void simulate_case(PracticeCase& of) {
  of.times = update_times(of.stages, of.microbatches);
  of.zb_h2 = 1 / simulated_utilization({"zb-h2", of.stages, of.microbatches, {}});
  of.stashes_1f1b = simulated_most_activations({"1f1b", of.stages, of.microbatches, {}});
  of.stashes_zb_h2 = simulated_most_activations({"zb-h2", of.stages, of.microbatches, {}});
  of.stashes_slots = simulated_most_activations({"pipemare", of.stages, of.microbatches, {{"timing", "slots"}}});
}

/// What PipeMare needs at a delay, by the nearest delays that were measured on both sides: staleness never helps, so
/// the shorter delay gives a least and the longer one a most.
struct NeededUpdates {
  double least = 1;
  std::optional<double> most;
};

NeededUpdates needed_updates(double delay, const std::vector<MeasuredFactor>& measured) {
  NeededUpdates needed;
  for (const MeasuredFactor& at : measured) {
    // More than a factor that was not enough says nothing about less.
    if (at.delay <= delay) needed.least = std::max(at.factor, at.reached ? 1.0 : needed.least);
    if (at.delay >= delay && at.reached && !needed.most) needed.most = std::max(at.factor, needed.least);
  }
  return needed;
}

std::string needed_text(const NeededUpdates& needed) {
  const std::string least = fixed_text(needed.least, 2);
  if (!needed.most) return "at least " + least + "x";
  const std::string most = fixed_text(*needed.most, 2);
  return (least == most ? "" : least + " to ") + most + "x";
}

/// What PipeMare has to save at best before it is worth a try.
constexpr double kWorthATry = 1.1;

/// What to take, and what it costs in activations.
std::string advice(const PracticeCase& of, double break_even, const NeededUpdates& needed) {
  if (break_even <= needed.least) return of.best_synchronous();
  if (break_even < kWorthATry * needed.least) {
    const double gain = 100 * (1 - needed.least / break_even);
    return of.best_synchronous() + ", PipeMare gains " + fixed_text(gain, 0) + " % at most";
  }
  const std::string activations =
      "PipeMare, with " + number_text(of.stashes_slots / of.stashes_1f1b, 2) + "x the activations of 1F1B";
  if (needed.most && break_even > *needed.most) return activations;
  return "try both: " + activations + ", or " + of.best_synchronous();
}

}  // namespace

std::int64_t trained_bytes(const std::string& train_command) {
  const TrainRun run = parse_train_run(train_command);
  const TrainOptions& options = run.options;
  const StageCosts costs = untimed_costs(options.model.network, options.model.partition, options.model.shape,
                                         precision_of<float>(options.optimization.optimizer));
  const Program program = lower(options.schedule, costs);
  std::int64_t bytes = 0;
  for (const StageDelays& stage : stage_delays(options.schedule, program)) bytes += stage.bytes;
  for (const StageMemory& memory : costs.memory) bytes += memory.gradient_bytes + memory.optimizer_bytes;
  return bytes;
}

std::optional<double> update_factor(const MethodFigures& first, const MethodFigures& of) {
  if (!mostly_reached(first) || !mostly_reached(of)) return std::nullopt;
  return of.to_target->mean / first.to_target->mean;
}

PlotTable currency_table(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  PlotTable table{.head = {"method", "updates to the target", "x GPipe's"}, .rows = {}};
  const std::vector<MethodFigures> figures = best_figures(study, runs, task);
  const MethodFigures* first = figures_of(figures, study.methods.front().name);
  if (first == nullptr || !mostly_reached(*first)) return table;
  const std::int64_t n = microbatches_of(study_command(task, *first->method, first->setting));
  for (const std::int32_t stages : kStages) table.head.push_back("t, P = " + std::to_string(stages));
  table.head.emplace_back("bytes of weights");
  table.head.emplace_back("t x bytes, P = 43");
  std::vector<UpdateTimes> times;
  for (const std::int32_t stages : kStages) times.push_back(update_times(stages, n));
  const double first_bytes = static_cast<double>(trained_bytes(study_command(task, *first->method, first->setting)));
  const std::size_t at_43 = 3;
  const auto add = [&](const std::string& name, const MethodFigures& of, double UpdateTimes::*flushed) {
    std::vector<std::string> row{name, fixed_text(of.to_target->mean, 0),
                                 fixed_text(of.to_target->mean / first->to_target->mean, 2)};
    std::vector<double> shares;
    for (const UpdateTimes& at : times) {
      const double time = flushed != nullptr ? of.to_target->mean * at.*flushed : time_of(task, of, at);
      shares.push_back(time / time_of(task, *first, at));
      row.push_back(fixed_text(shares.back(), 2));
    }
    const double bytes = static_cast<double>(trained_bytes(study_command(task, *of.method, of.setting))) / first_bytes;
    row.push_back(fixed_text(bytes, 2) + "x");
    row.push_back(fixed_text(bytes * shares[at_43], 2));
    table.rows.push_back(std::move(row));
  };
  add(first->method->title + " (GPipe)", *first, &UpdateTimes::flushed);
  add(first->method->title + ", 1F1B", *first, &UpdateTimes::one_f_one_b);
  add(first->method->title + ", zero-bubble (ZB-H1)", *first, &UpdateTimes::zero_bubble);
  for (const MethodFigures& of : figures) {
    if (&of == first) continue;
    if (mostly_reached(of)) {
      add(of.method->title, of, nullptr);
    } else {
      table.rows.push_back({of.method->title, "not reached by most runs"});
    }
  }
  return table;
}

std::vector<MeasuredFactor> measured_factors(const Study& study, const std::vector<StudyRun>& runs,
                                             const std::vector<std::string>& names) {
  std::vector<MeasuredFactor> measured;
  for (const StudyTask& task : study.tasks) {
    const std::vector<MethodFigures> figures = best_figures(study, runs, task);
    const MethodFigures* first = figures_of(figures, study.methods.front().name);
    if (first == nullptr || !first->bracketed || !mostly_reached(*first)) continue;
    MeasuredFactor best{.task = &task, .reached = false};
    for (const std::string& name : names) {
      const MethodFigures* of = figures_of(figures, name);
      if (of == nullptr || !of->bracketed) continue;
      const std::string command = study_command(task, *of->method, of->setting);
      best.delay = first_delay(command);
      const std::optional<double> factor = update_factor(*first, *of);
      if (factor && (!best.reached || *factor < best.factor)) best.factor = *factor;
      if (factor) best.reached = true;
      if (!best.reached) best.factor = updates_of(command) / first->to_target->mean;
    }
    if (best.factor > 0) measured.push_back(best);
  }
  std::ranges::stable_sort(measured, {}, &MeasuredFactor::delay);
  return measured;
}

std::string factors_text(const std::vector<MeasuredFactor>& measured) {
  std::string text;
  for (const MeasuredFactor& at : measured) {
    text += (text.empty() ? "" : ", ") + std::string(at.reached ? "" : "more than ") + fixed_text(at.factor, 2) +
            "x at a delay of " + fixed_text(at.delay, 1) + " (" + at.task->name + ")";
  }
  return text;
}

PlotTable practice_table(const std::vector<MeasuredFactor>& measured) {
  std::vector<PracticeCase> cases;
  for (const std::int32_t stages : kPracticeStages) {
    for (const std::int64_t n : kPracticeMicrobatches) {
      cases.push_back({.stages = stages, .microbatches = n, .times = {}});
    }
  }
  tbb::parallel_for(std::size_t{0}, cases.size(), [&](std::size_t i) { simulate_case(cases[i]); });
  PlotTable table{
      .head = {"P", "N", "update: 1F1B", "ZB-H1", "ZB-H2", "PipeMare", "stashes: 1F1B", "ZB-H2", "PipeMare",
               "updates that PipeMare may need", "its delay", "updates that it needed", "2BW's delay", "take"},
      .rows = {}};
  for (const PracticeCase& of : cases) {
    const double break_even = of.best_time() / of.times.flush_free;
    const NeededUpdates needed = needed_updates(of.delay(), measured);
    const std::int64_t delay = (2 * std::int64_t{of.stages} - 1 + of.microbatches - 1) / of.microbatches;
    table.rows.push_back({std::to_string(of.stages), std::to_string(of.microbatches),
                          fixed_text(of.times.one_f_one_b, 2), fixed_text(of.times.zero_bubble, 2),
                          fixed_text(of.zb_h2, 2), fixed_text(of.times.flush_free, 2), number_text(of.stashes_1f1b),
                          number_text(of.stashes_zb_h2), number_text(of.stashes_slots),
                          "up to " + fixed_text(break_even, 2) + "x", fixed_text(of.delay(), 1), needed_text(needed),
                          std::to_string(delay), advice(of, break_even, needed)});
  }
  return table;
}

}  // namespace plumb
