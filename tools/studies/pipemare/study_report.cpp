#include "tools/studies/pipemare/study_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "tools/reports/report_palette.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

/// "0.951 ± 0.004": shares of 1 as percent.
std::string estimate_text(const std::optional<SeedMean>& of, double unit, int digits) {
  if (!of) return "-";
  std::string text = fixed_text(of->mean * unit, digits);
  if (of->half_width) text += " ± " + fixed_text(*of->half_width * unit, digits);
  return text;
}

std::string target_text(const MethodFigures& of) {
  if (!of.to_target) return "never";
  std::string text = fixed_text(of.to_target->mean, 0);
  if (of.to_target->count < of.runs) {
    text += " (" + std::to_string(of.to_target->count) + " of " + std::to_string(of.runs) + ")";
  }
  return text;
}

std::string diverged_text(const MethodFigures& of) {
  std::string text = std::to_string(of.diverged) + " of " + std::to_string(of.runs);
  if (of.failed > 0) text += ", " + std::to_string(of.failed) + " failed";
  return text;
}

std::string quality_title(const StudyTask& task) { return task.by_accuracy ? "accuracy, %" : "loss"; }

/// One standard error of a single run: what the size of the held-out data lets it be known to.
std::string error_text(const MethodFigures& of) {
  if (!of.quality || of.task->held_out == 0) return "-";
  const double error = standard_error(of.quality->mean, static_cast<double>(of.task->held_out));
  return fixed_text(100 * error, 2);
}

/// BLEU, or the perplexity of a loss.
std::string other_quality_text(const MethodFigures& of) {
  if (of.bleu) return estimate_text(of.bleu, 100, 2);
  if (!of.task->by_accuracy && of.quality) return fixed_text(std::exp(of.quality->mean), 2);
  return "-";
}

std::vector<std::string> heads(const Study& study, const StudyTask& task) {
  return {
      "method",
      "best rate",
      "seeds",
      quality_title(task),
      "standard error",
      task.by_accuracy ? "BLEU" : "perplexity",
      "behind " + study.methods.front().title + (task.by_accuracy ? ", points" : ""),
      "updates to " + number_text(task.by_accuracy ? 100 * task.target : task.target) + (task.by_accuracy ? " %" : ""),
      "diverged",
      "s per run"};
}

std::vector<std::string> cells(const MethodFigures& of) {
  const double unit = of.task->by_accuracy ? 100 : 1;
  const int digits = of.task->by_accuracy ? 2 : 4;
  return {of.method->title,
          of.setting.rate + (of.bracketed ? "" : " (edge)"),
          std::to_string(of.runs),
          estimate_text(of.quality, unit, digits),
          error_text(of),
          other_quality_text(of),
          estimate_text(of.gap, unit, digits),
          target_text(of),
          diverged_text(of),
          of.seconds ? fixed_text(of.seconds->mean, 1) : "-"};
}

Json estimate_json(const std::optional<SeedMean>& of) {
  if (!of) return {};
  return {{"mean", of->mean}, {"half_width", of->half_width ? Json(*of->half_width) : Json()}, {"count", of->count}};
}

/// A line per method at its best rate: mean and band of `value` over the seeds, by updates done; values lie between 0
/// and `most`.
Plot curves(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs,
            const std::function<double(const StudyPoint&)>& value, double most) {
  Plot plot{.title = task.title,
            .note = task.note + (task.note.empty() ? "" : "; ") +
                    "every method at its best rate, mean over seeds with 95 % interval",
            .x = {"updates"},
            .y = {},
            .series = {},
            .marks = {}};
  for (std::size_t m = 0; m < study.methods.size(); ++m) {
    const std::optional<std::string> rate = best_rate(task, study.methods[m], runs);
    if (!rate) continue;
    const StudySetting best = rule_setting(task, study.methods[m], *rate);
    std::map<std::int64_t, std::vector<double>> values;
    for (const StudyRun& run : runs) {
      if (!run.is(task, study.methods[m]) || run.setting != best) continue;
      for (const StudyPoint& point : run.points) {
        if (std::isfinite(value(point))) values[point.update].push_back(value(point));
      }
    }
    if (values.empty()) continue;
    PlotSeries& series = plot.series.emplace_back();
    series.name = study.methods[m].title;
    series.colour = method_colour(m);
    series.dashed = m == 0 || m >= kPlotColours.size();
    for (const auto& [update, seeds] : values) {
      const SeedMean of = estimate(seeds);
      const double half = of.half_width.value_or(0);
      series.x.push_back(static_cast<double>(update));
      series.y.push_back(of.mean);
      series.low.push_back(std::max(of.mean - half, 0.0));
      series.high.push_back(std::min(of.mean + half, most));
    }
  }
  return plot;
}

}  // namespace

std::size_t method_colour(std::size_t place) {
  const std::size_t colours = kPlotColours.size();
  return place < colours ? place : 1 + (place - colours) % (colours - 1);
}

std::string quality_text(const StudyTask& task, const std::optional<SeedMean>& of) {
  return estimate_text(of, task.by_accuracy ? 100 : 1, task.by_accuracy ? 2 : 4);
}

std::string study_text(const Study& study, const std::vector<StudyRun>& runs) {
  std::string text;
  for (const StudyTask& task : study.tasks) {
    const std::vector<MethodFigures> figures = best_figures(study, runs, task);
    if (figures.empty()) continue;
    std::vector<TextTable::Column> columns;
    for (const std::string& head : heads(study, task)) columns.push_back({head, columns.empty() ? '<' : '>'});
    TextTable table(std::move(columns));
    for (const MethodFigures& of : figures) table.add_row(cells(of));
    text += (text.empty() ? "" : "\n") + task.title + (task.note.empty() ? "" : ": " + task.note) + "\n" +
            table.to_string();
  }
  for (const StudyRun& run : runs) {
    if (!run.error.empty()) {
      text += run.task + ", " + run.method + ", rate " + run.setting.rate + ", seed " + std::to_string(run.seed) +
              ": " + run.error + "\n";
    }
  }
  return text;
}

std::string study_markdown(const Study& study, const std::vector<StudyRun>& runs) {
  std::string text;
  const auto row = [&](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) text += "| " + cell + " ";
    text += "|\n";
  };
  for (const StudyTask& task : study.tasks) {
    const std::vector<MethodFigures> figures = best_figures(study, runs, task);
    if (figures.empty()) continue;
    text += "### " + task.title + (task.note.empty() ? "" : ": " + task.note) + "\n\n";
    row(heads(study, task));
    text += "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for (const MethodFigures& of : figures) row(cells(of));
    text += "\n```\n";
    for (const MethodFigures& of : figures) {
      text += "plumbline " + study_command(task, *of.method, of.setting) + " --seed 0\n";
    }
    text += "```\n\n";
  }
  return text;
}

std::string study_json(const Study& study, const std::vector<StudyRun>& runs) {
  Json document = {{"tasks", Json::array()}};
  for (const StudyTask& task : study.tasks) {
    Json methods = Json::array();
    for (const MethodFigures& of : best_figures(study, runs, task)) {
      methods.push_back({{"name", of.method->name},
                         {"title", of.method->title},
                         {"command", study_command(task, *of.method, of.setting)},
                         {"rate", of.setting.rate},
                         {"bracketed", of.bracketed},
                         {"runs", of.runs},
                         {"diverged", of.diverged},
                         {"failed", of.failed},
                         {"quality", estimate_json(of.quality)},
                         {"loss", estimate_json(of.loss)},
                         {"bleu", estimate_json(of.bleu)},
                         {"gap", estimate_json(of.gap)},
                         {"updates_to_target", estimate_json(of.to_target)},
                         {"seconds", estimate_json(of.seconds)}});
    }
    document["tasks"].push_back({{"name", task.name},
                                 {"title", task.title},
                                 {"quality", task.by_accuracy ? "accuracy" : "loss"},
                                 {"target", task.target},
                                 {"methods", std::move(methods)}});
  }
  return document.dump(1);
}

Plot study_plot(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  Plot plot = curves(
      study, task, runs,
      [&](const StudyPoint& point) { return (task.by_accuracy ? 100 : 1) * quality_of(task, point); },
      task.by_accuracy ? 100 : std::numeric_limits<double>::max());
  plot.y.title = quality_title(task);
  return plot;
}

Plot study_loss_plot(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  Plot plot = curves(
      study, task, runs, [](const StudyPoint& point) { return point.train_loss; }, std::numeric_limits<double>::max());
  for (PlotSeries& series : plot.series) {
    series.low.clear();
    series.high.clear();
  }
  plot.note = task.note + (task.note.empty() ? "" : "; ") + "every method at its best rate, mean over seeds";
  plot.y = {"training loss", true};
  return plot;
}

PlotTable study_table(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs) {
  PlotTable table{.head = heads(study, task), .rows = {}};
  for (const MethodFigures& of : best_figures(study, runs, task)) table.rows.push_back(cells(of));
  return table;
}

}  // namespace plumb
