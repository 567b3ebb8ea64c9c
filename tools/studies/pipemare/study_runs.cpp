#include "tools/studies/pipemare/study_runs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::string_view kRunsHeader =
    "task,method,rate,K,D,seed,command,seconds,update,train_loss,loss,accuracy,bleu";
constexpr std::size_t kRunColumns = 13;

std::string figure_text(double figure) { return std::isfinite(figure) ? number_text(figure, 6) : "nan"; }

std::string optional_text(const std::optional<double>& figure) { return figure ? figure_text(*figure) : ""; }

double read_number(const std::string& text, const std::string& where) {
  return text == "nan" ? std::numeric_limits<double>::quiet_NaN() : parse_real(text, where);
}

std::optional<double> read_optional(const std::string& text, const std::string& where) {
  return text.empty() ? std::nullopt : std::optional(read_number(text, where));
}

/// Cells of a line, empty ones too.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells{""};
  for (const char c : line) {
    if (c == ',')
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

bool same_run(const StudyRun& a, const StudyRun& b) {
  return a.task == b.task && a.method == b.method && a.setting == b.setting && a.seed == b.seed &&
         a.command == b.command;
}

StudyRun run_of(const std::vector<std::string>& cells, const std::string& where) {
  StudyRun run;
  run.task = cells[0];
  run.method = cells[1];
  run.setting = {cells[2], cells[3], cells[4]};
  run.seed = parse_whole(cells[5], {.least = 0}, where);
  run.command = cells[6];
  run.seconds = parse_real(cells[7], where);
  return run;
}

}  // namespace

std::string command_mark(const std::string& command) {
  std::uint32_t hash = 2166136261U;
  for (const char c : command) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string mark;
  for (int shift = 28; shift >= 0; shift -= 4) mark += kDigits[(hash >> shift) & 15U];
  return mark;
}

double quality_of(const StudyTask& task, const StudyPoint& point) {
  if (task.by_accuracy) return point.accuracy.value_or(0);
  return point.loss.value_or(point.train_loss);
}

bool has_diverged(const StudyTask& task, const StudyRun& run) {
  const auto broken = [](const StudyPoint& point) { return !std::isfinite(point.train_loss); };
  if (run.points.empty() || std::ranges::any_of(run.points, broken)) return true;
  if (run.points.back().train_loss > run.points.front().train_loss) return true;
  const double quality = quality_of(task, run.points.back());
  if (!std::isfinite(quality)) return true;
  if (task.by_accuracy) return quality <= task.chance;
  return quality >= task.chance || quality > quality_of(task, run.points.front());
}

std::string runs_csv(const std::vector<StudyRun>& runs) {
  std::string text(kRunsHeader);
  text += '\n';
  for (const StudyRun& run : runs) {
    const std::string begin = run.task + "," + run.method + "," + run.setting.rate + "," + run.setting.k + "," +
                              run.setting.d + "," + std::to_string(run.seed) + "," + run.command + "," +
                              fixed_text(run.seconds, 1) + ",";
    for (const StudyPoint& point : run.points) {
      text += begin + std::to_string(point.update) + "," + figure_text(point.train_loss) + "," +
              optional_text(point.loss) + "," + optional_text(point.accuracy) + "," + optional_text(point.bleu) + "\n";
    }
  }
  return text;
}

std::vector<StudyRun> runs_from_csv(const std::string& text, const std::string& file_name) {
  std::vector<StudyRun> runs;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    const std::string where = file_name + ":" + std::to_string(++number);
    if (line.empty()) continue;
    if (number == 1) {
      if (line != kRunsHeader) throw Error(where + ": expected the columns " + std::string(kRunsHeader));
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != kRunColumns) throw Error(where + ": expected " + std::to_string(kRunColumns) + " columns");
    StudyRun run = run_of(cells, where);
    if (runs.empty() || !same_run(runs.back(), run)) runs.push_back(std::move(run));
    StudyPoint& point = runs.back().points.emplace_back();
    point.update = parse_whole(cells[8], {.least = 0}, where);
    point.train_loss = read_number(cells[9], where);
    point.loss = read_optional(cells[10], where);
    point.accuracy = read_optional(cells[11], where);
    point.bleu = read_optional(cells[12], where);
  }
  return runs;
}

std::vector<StudyRun> runs_of_study(const Study& study, std::vector<StudyRun> runs) {
  std::erase_if(runs, [&](const StudyRun& run) {
    const auto task = std::ranges::find(study.tasks, run.task, &StudyTask::name);
    const auto method = std::ranges::find(study.methods, run.method, &StudyMethod::name);
    if (task == study.tasks.end() || method == study.methods.end() || !method->is_tried_on(*task)) return true;
    return run.command != command_mark(study_command(*task, *method, run.setting));
  });
  return runs;
}

}  // namespace plumb
