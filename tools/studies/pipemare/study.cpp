#include "tools/studies/pipemare/study.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::string_view kStudyHeader = "task,method,seed,seconds,update,train_loss,loss,accuracy";
constexpr std::size_t kColumns = 8;

std::string text_or(const JsonValue& object, std::string_view key, std::string otherwise) {
  const auto value = object.find(key);
  return value ? std::string(value->text()) : std::move(otherwise);
}

StudyTask read_task(const JsonValue& object) {
  object.allow_only({"name", "title", "note", "arguments", "words", "quality", "target", "clusters"});
  StudyTask task;
  task.name = object.at("name").text();
  task.title = text_or(object, "title", task.name);
  task.note = text_or(object, "note", "");
  task.arguments = object.at("arguments").text();
  if (const auto words = object.find("words")) {
    for (const JsonValue::Member& member : words->members()) task.words[std::string(member.key)] = member.value.text();
  }
  const std::string_view quality = object.at("quality").text();
  if (quality != "accuracy" && quality != "loss") object.at("quality").fail_expected("\"accuracy\" or \"loss\"");
  task.by_accuracy = quality == "accuracy";
  task.target = object.at("target").number();
  if (const auto clusters = object.find("clusters")) {
    for (const JsonValue& cluster : clusters->elements()) task.clusters.emplace_back(cluster.text());
  }
  return task;
}

StudyMethod read_method(const JsonValue& object) {
  object.allow_only({"name", "title", "arguments"});
  StudyMethod method;
  method.name = object.at("name").text();
  method.title = text_or(object, "title", method.name);
  method.arguments = object.at("arguments").text();
  return method;
}

template <class Row>
void require_distinct(const std::vector<Row>& rows, const JsonValue& list) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto same = [&](const Row& row) { return row.name == rows[i].name; };
    if (std::ranges::count_if(rows, same) > 1) list.fail("'" + rows[i].name + "' comes twice, expected distinct names");
    if (rows[i].name.find(',') != std::string::npos) list.fail("'" + rows[i].name + "': expected a name without comma");
  }
  if (rows.empty()) list.fail("is empty, expected at least one");
}

std::string figure_text(double figure) { return std::isfinite(figure) ? number_text(figure, 6) : "nan"; }

std::string optional_text(const std::optional<double>& figure) { return figure ? figure_text(*figure) : ""; }

double read_number(const std::string& text, const std::string& where) {
  return text == "nan" ? std::numeric_limits<double>::quiet_NaN() : parse_real(text, where);
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

}  // namespace

Study study_from_json(std::string text, const std::string& file_name) {
  const JsonDocument document(std::move(text), file_name);
  const JsonValue root = document.root();
  check_format(root, "plumbline-study", 1);
  root.allow_only({"format", "version", "seeds", "tasks", "methods"});
  Study study;
  study.seeds = root.at("seeds").integer(1, 1000);
  for (const JsonValue& task : root.at("tasks").elements()) study.tasks.push_back(read_task(task));
  for (const JsonValue& method : root.at("methods").elements()) study.methods.push_back(read_method(method));
  require_distinct(study.tasks, root.at("tasks"));
  require_distinct(study.methods, root.at("methods"));
  return study;
}

std::string study_command(const StudyTask& task, const StudyMethod& method) {
  std::string words;
  const std::string& text = method.arguments;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '{') {
      words += text[at++];
      continue;
    }
    const std::size_t end = std::min(text.find('}', at), text.size());
    const std::string word = text.substr(at + 1, end - at - 1);
    const auto found = task.words.find(word);
    if (found == task.words.end()) {
      throw Error("study: method '" + method.name + "' says {" + word + "}, expected it among the words of task '" +
                  task.name + "'");
    }
    words += found->second;
    at = end + 1;
  }
  return "train " + words + " " + task.arguments;
}

bool StudyRun::diverged() const {
  const auto broken = [](const StudyPoint& point) { return !std::isfinite(point.train_loss); };
  if (points.empty() || std::ranges::any_of(points, broken)) return true;
  return points.back().train_loss > points.front().train_loss;
}

std::string runs_csv(const std::vector<StudyRun>& runs) {
  std::string text(kStudyHeader);
  text += '\n';
  for (const StudyRun& run : runs) {
    for (const StudyPoint& point : run.points) {
      text += run.task + "," + run.method + "," + std::to_string(run.seed) + "," + fixed_text(run.seconds, 1) + "," +
              std::to_string(point.update) + "," + figure_text(point.train_loss) + "," + optional_text(point.loss) +
              "," + optional_text(point.accuracy) + "\n";
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
      if (line != kStudyHeader) throw Error(where + ": expected the columns " + std::string(kStudyHeader));
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != kColumns) throw Error(where + ": expected " + std::to_string(kColumns) + " columns");
    const std::int64_t seed = parse_whole(cells[2], {.least = 0}, where);
    if (runs.empty() || runs.back().task != cells[0] || runs.back().method != cells[1] || runs.back().seed != seed) {
      StudyRun& run = runs.emplace_back();
      run.task = cells[0];
      run.method = cells[1];
      run.seed = seed;
      run.seconds = parse_real(cells[3], where);
    }
    StudyPoint& point = runs.back().points.emplace_back();
    point.update = parse_whole(cells[4], {.least = 0}, where);
    point.train_loss = read_number(cells[5], where);
    if (!cells[6].empty()) point.loss = read_number(cells[6], where);
    if (!cells[7].empty()) point.accuracy = read_number(cells[7], where);
  }
  return runs;
}

}  // namespace plumb
