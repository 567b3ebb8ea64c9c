#include "tools/studies/pipemare/practice_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <tbb/parallel_for.h>

#include "models/stages/network_costs.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/versions/delays.hpp"
#include "tools/studies/pipemare/simulated_models.hpp"
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

std::int64_t microbatches_of(const std::string& command) {
  const std::vector<std::string> words = words_after("train", command);
  const auto found = std::ranges::find(words, "-m");
  return found == words.end() ? 1 : parse_whole(*(found + 1), {.least = 1}, "study");
}

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
};

void simulate_case(PracticeCase& of) {
  of.times = update_times(of.stages, of.microbatches);
  of.zb_h2 = 1 / simulated_utilization({"zb-h2", of.stages, of.microbatches, {}});
  of.stashes_1f1b = simulated_most_activations({"1f1b", of.stages, of.microbatches, {}});
  of.stashes_zb_h2 = simulated_most_activations({"zb-h2", of.stages, of.microbatches, {}});
  of.stashes_slots = simulated_most_activations({"pipemare", of.stages, of.microbatches, {{"timing", "slots"}}});
}

/// What to take, and what it costs in activations.
std::string advice(const PracticeCase& of, double break_even, const std::optional<FactorRange>& measured) {
  if (!measured) return "not known: no run of PipeMare reached a target";
  if (break_even < measured->least) return "zero-bubble";
  const std::string activations = number_text(of.stashes_slots / of.stashes_1f1b, 2) + "x activations";
  if (break_even > measured->most) return "PipeMare, with " + activations;
  return "by task: PipeMare, with " + activations;
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

std::optional<FactorRange> factor_range(const Study& study, const std::vector<StudyRun>& runs,
                                        const std::vector<std::string>& names) {
  std::optional<FactorRange> range;
  for (const StudyTask& task : study.tasks) {
    const std::vector<MethodFigures> figures = best_figures(study, runs, task);
    const MethodFigures* first = figures_of(figures, study.methods.front().name);
    std::optional<double> least;
    for (const std::string& name : names) {
      const MethodFigures* of = figures_of(figures, name);
      if (first == nullptr || of == nullptr || !first->bracketed || !of->bracketed) continue;
      const std::optional<double> factor = update_factor(*first, *of);
      if (factor) least = std::min(*factor, least.value_or(*factor));
    }
    if (!least) continue;
    if (!range) range = FactorRange{*least, *least, 0};
    range->least = std::min(range->least, *least);
    range->most = std::max(range->most, *least);
    ++range->tasks;
  }
  return range;
}

PlotTable practice_table(const std::optional<FactorRange>& measured) {
  std::vector<PracticeCase> cases;
  for (const std::int32_t stages : kPracticeStages) {
    for (const std::int64_t n : kPracticeMicrobatches) {
      cases.push_back({.stages = stages, .microbatches = n, .times = {}});
    }
  }
  tbb::parallel_for(std::size_t{0}, cases.size(), [&](std::size_t i) { simulate_case(cases[i]); });
  PlotTable table{.head = {"P", "N", "update: 1F1B", "ZB-H1", "ZB-H2", "PipeMare", "stashes: 1F1B", "ZB-H2", "PipeMare",
                           "updates that PipeMare may need", "2BW's delay", "take"},
                  .rows = {}};
  for (const PracticeCase& of : cases) {
    const double best = std::min({of.times.one_f_one_b, of.times.zero_bubble, of.zb_h2});
    const double break_even = best / of.times.flush_free;
    const std::int64_t delay = (2 * std::int64_t{of.stages} - 1 + of.microbatches - 1) / of.microbatches;
    table.rows.push_back(
        {std::to_string(of.stages), std::to_string(of.microbatches), fixed_text(of.times.one_f_one_b, 2),
         fixed_text(of.times.zero_bubble, 2), fixed_text(of.zb_h2, 2), fixed_text(of.times.flush_free, 2),
         number_text(of.stashes_1f1b), number_text(of.stashes_zb_h2), number_text(of.stashes_slots),
         "up to " + fixed_text(break_even, 2) + "x", std::to_string(delay), advice(of, break_even, measured)});
  }
  return table;
}

}  // namespace plumb
