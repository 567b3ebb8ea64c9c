#include "tools/studies/pipemare/study_page.hpp"

#include <algorithm>
#include <utility>

#include "tools/studies/pipemare/practice_tables.hpp"
#include "tools/studies/pipemare/study_grid.hpp"
#include "tools/studies/pipemare/study_report.hpp"
#include "tools/studies/pipemare/study_statements.hpp"
#include "tools/studies/pipemare/time_to_accuracy.hpp"

namespace plumb {
namespace {

/// The tasks that have runs.
std::vector<const StudyTask*> tasks_with_runs(const Study& study, const std::vector<StudyRun>& runs) {
  std::vector<const StudyTask*> tasks;
  for (const StudyTask& task : study.tasks) {
    if (std::ranges::find(runs, task.name, &StudyRun::task) != runs.end()) tasks.push_back(&task);
  }
  return tasks;
}

/// A choice per task.
template <class Make>
PlotCard task_cards(std::string title, std::string note, const std::vector<const StudyTask*>& tasks, Make&& make) {
  PlotCard card{.title = std::move(title), .note = std::move(note), .choices = {}, .choice_label = "task"};
  for (const StudyTask* task : tasks) {
    PlotChoice choice = make(*task);
    choice.name = task->name;
    card.choices.push_back(std::move(choice));
  }
  return card;
}

PlotCard table_card(std::string title, std::string note, PlotTable table) {
  return {
      .title = std::move(title), .note = std::move(note), .choices = {{"", {}, std::move(table)}}, .choice_label = ""};
}

PlotTable methods_table(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  PlotTable table{.head = {"method", "command at its best rate"}, .rows = {}};
  for (const MethodFigures& of : best_figures(study, runs, task)) {
    table.rows.push_back({of.method->title, "plumbline " + study_command(task, *of.method, of.setting) + " --seed 0"});
  }
  return table;
}

PlotTable missing_table(const Study& study, const std::vector<StudyRun>& runs) {
  PlotTable table{.head = {"not run"}, .rows = {}};
  for (const std::string& line : missing_cells(study, runs)) table.rows.push_back({line});
  if (table.rows.empty()) table.rows.push_back({"nothing: the study is complete"});
  return table;
}

void add_results(PlotPage& page, const ModelStudy& models, const Study& study, const std::vector<StudyRun>& runs) {
  const std::vector<const StudyTask*> tasks = tasks_with_runs(study, runs);
  page.cards.push_back(task_cards("The answer", study_answer(study, runs), tasks, [&](const StudyTask& task) {
    return PlotChoice{"", grid_quality_plot(study, task, runs), {}};
  }));
  page.cards.push_back(task_cards(
      "Every method at its best",
      "At the learning rate where it does best, K and D by the paper's rules. 95 % intervals over seeds (Student's t); "
      "behind: paired by seed with synchronous training at its own best. Diverged: a loss is no number, or the run "
      "ends worse than it began or no better than chance. (edge): no worse rate was tried on one side. Standard error: "
      "of a single run, by the number of held-out targets.",
      tasks, [&](const StudyTask& task) {
        return PlotChoice{"", study_plot(study, task, runs), study_table(study, task, runs)};
      }));
  page.cards.push_back(task_cards(
      "The grid over learning rates",
      "Held-out loss at the end. Below: up to which rate each method is stable, and what the bound of `plumbline "
      "stability` (one weight, quadratic loss, momentum 0.9) leaves of the synchronous rate with its delay.",
      tasks, [&](const StudyTask& task) {
        return PlotChoice{"", grid_plot(study, task, runs), stability_table(study, task, runs)};
      }));
  page.cards.push_back(table_card("The paper's statements", "Yang et al., PipeMare, arXiv 1910.05124, MLSys 2021.",
                                  statements_table(paper_statements(models, study, runs))));
  page.cards.push_back(table_card(
      "When to take PipeMare today",
      "P stages, N microbatches per update. Update: simulated time over that without idle time, forward and backward "
      "equally long (2BW: the same). Stashes: of one stage and microbatch, on the fullest device. PipeMare pays where "
      "it needs fewer times the updates than the best synchronous schedule loses to idle time. Needed: what the better "
      "of T1 and T1 + T2 needed to the target in our runs with the nearest shorter and longer delay of the first "
      "stage, "
      "(2P - 1) / N updates (on different tasks). 2BW needed " +
          factors_text(measured_factors(study, runs, {"2bw"})) +
          ". PipeMare's weights take 1 copy (T1) or one more (T2), those of 2BW one more "
          "for each update of delay.",
      practice_table(measured_factors(study, runs, {"t1", "t1-t2"}))));
  page.cards.push_back(
      task_cards("Updates, time and bytes to the target",
                 "Time t relative to that of GPipe at P stages. Updates as measured at the task's own number of stages "
                 "(with fewer stages delays are "
                 "shorter, so asynchronous methods would need fewer); times are simulated with the task's N.",
                 tasks, [&](const StudyTask& task) {
                   return PlotChoice{"", {}, currency_table(study, task, runs)};
                 }));
}

void add_curves(PlotPage& page, const Study& study, const std::vector<StudyRun>& runs,
                const std::vector<std::string>& clusters) {
  for (const StudyTask* task : tasks_with_runs(study, runs)) {
    page.cards.push_back({.title = task->title + ": training loss",
                          .note = task->note,
                          .choices = {{"", study_loss_plot(study, *task, runs), {}}},
                          .choice_label = ""});
    const auto& on = clusters.empty() ? task->clusters : clusters;
    if (!on.empty()) page.cards.push_back(time_to_accuracy(study, *task, runs, on));
  }
}

void add_methods(PlotPage& page, const Study& study, const std::vector<StudyRun>& runs) {
  const std::vector<const StudyTask*> tasks = tasks_with_runs(study, runs);
  page.cards.push_back(task_cards("Other K and D", "At each method's best rate.", tasks, [&](const StudyTask& task) {
    return PlotChoice{"", {}, variants_table(study, task, runs)};
  }));
  page.cards.push_back(task_cards("The methods", "Every run can be repeated by its command, bit for bit.", tasks,
                                  [&](const StudyTask& task) {
                                    return PlotChoice{"", {}, methods_table(study, task, runs)};
                                  }));
  page.cards.push_back(table_card("What was not run",
                                  "`plumbline reproduce pipemare` runs it and goes on where it was.",
                                  missing_table(study, runs)));
}

}  // namespace

PlotPage study_page(const ModelStudy& models, const Study& study, const std::vector<StudyRun>& runs,
                    const std::vector<std::string>& clusters) {
  PlotPage page{.title = "PipeMare", .note = "What asynchronous pipelines lose, need and save", .cards = {}};
  if (!runs.empty()) add_results(page, models, study, runs);
  if (!runs.empty()) add_curves(page, study, runs, clusters);
  for (const Plot& plot : models.plots) {
    page.cards.push_back({.title = plot.title, .note = plot.note, .choices = {{"", plot, {}}}, .choice_label = ""});
  }
  page.cards.push_back(table_card("Figures of the model", "", model_table(models)));
  if (!runs.empty()) add_methods(page, study, runs);
  return page;
}

}  // namespace plumb
