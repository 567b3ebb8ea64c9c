#include "tools/studies/pipemare/study.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

std::string text_or(const JsonValue& object, std::string_view key, std::string otherwise) {
  const auto value = object.find(key);
  return value ? std::string(value->text()) : std::move(otherwise);
}

std::vector<std::string> texts_or_none(const JsonValue& object, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto list = object.find(key)) {
    for (const JsonValue& text : list->elements()) texts.emplace_back(text.text());
  }
  return texts;
}

std::map<std::string, std::string> read_words(const JsonValue& object) {
  std::map<std::string, std::string> words;
  if (const auto members = object.find("words")) {
    for (const JsonValue::Member& member : members->members()) words[std::string(member.key)] = member.value.text();
  }
  return words;
}

/// Numbers above 0 as texts, which commands and tables repeat as they are; no comma.
std::vector<std::string> read_numbers(const JsonValue& object, std::string_view key) {
  std::vector<std::string> numbers = texts_or_none(object, key);
  for (const std::string& number : numbers) {
    try {
      if (parse_real(number, "") > 0 && number.find(',') == std::string::npos) continue;
    } catch (const Error&) {  // said below, with its place
    }
    object.at(key).fail("'" + number + "': expected a number above 0, as text");
  }
  return numbers;
}

void require_ascending(const std::vector<std::string>& rates, const JsonValue& list) {
  for (std::size_t i = 0; i + 1 < rates.size(); ++i) {
    if (parse_real(rates[i], "") >= parse_real(rates[i + 1], "")) list.fail("expected ascending learning rates");
  }
}

StudyTask read_task(const JsonValue& object) {
  object.allow_only({"name", "title", "note", "arguments", "words", "rates", "further_rates", "K", "D", "quality",
                     "target", "chance", "held_out", "clusters", "seeds", "grid_seeds"});
  StudyTask task;
  task.name = object.at("name").text();
  task.title = text_or(object, "title", task.name);
  task.note = text_or(object, "note", "");
  task.arguments = object.at("arguments").text();
  task.words = read_words(object);
  task.rates = read_numbers(object, "rates");
  if (task.rates.empty()) object.at("rates").fail("is empty, expected at least one learning rate");
  require_ascending(task.rates, object.at("rates"));
  task.further_rates = read_numbers(object, "further_rates");
  task.k = read_numbers(object, "K");
  task.d = read_numbers(object, "D");
  const std::string_view quality = object.at("quality").text();
  if (quality != "accuracy" && quality != "loss") object.at("quality").fail_expected("\"accuracy\" or \"loss\"");
  task.by_accuracy = quality == "accuracy";
  task.target = object.at("target").number();
  task.chance = object.at("chance").number();
  if (const auto targets = object.find("held_out")) task.held_out = targets->integer(1, 1'000'000'000);
  task.clusters = texts_or_none(object, "clusters");
  if (const auto seeds = object.find("seeds")) task.seeds = seeds->integer(1, 1000);
  if (const auto seeds = object.find("grid_seeds")) task.grid_seeds = seeds->integer(1, 1000);
  return task;
}

StudyMethod read_method(const JsonValue& object, const std::vector<StudyTask>& tasks) {
  object.allow_only({"name", "title", "arguments", "words", "tasks"});
  StudyMethod method;
  method.name = object.at("name").text();
  method.title = text_or(object, "title", method.name);
  method.arguments = object.at("arguments").text();
  method.words = read_words(object);
  method.tasks = texts_or_none(object, "tasks");
  for (const std::string& name : method.tasks) {
    if (std::ranges::find(tasks, name, &StudyTask::name) == tasks.end()) {
      object.at("tasks").fail("'" + name + "': expected the name of a task");
    }
  }
  return method;
}

template <class Row>
void require_distinct(const std::vector<Row>& rows, const JsonValue& list) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto same = [&](const Row& row) { return row.name == rows[i].name; };
    if (std::ranges::count_if(rows, same) > 1) list.fail("'" + rows[i].name + "' comes twice, expected distinct names");
    if (rows[i].name.find_first_of(",\n") != std::string::npos) {
      list.fail("'" + rows[i].name + "': expected a name without comma");
    }
  }
  if (rows.empty()) list.fail("is empty, expected at least one");
}

bool uses(const StudyMethod& method, std::string_view word) {
  return method.arguments.find("{" + std::string(word) + "}") != std::string::npos;
}

/// What {`word`} stands for: the setting, then the method's words, then the task's.
std::string meaning(const std::string& word, const StudyTask& task, const StudyMethod& method,
                    const StudySetting& setting) {
  if (word == "rate") return setting.rate;
  if (word == "K" && !setting.k.empty()) return setting.k;
  if (word == "D" && !setting.d.empty()) return setting.d;
  for (const auto* words : {&method.words, &task.words}) {
    const auto found = words->find(word);
    if (found != words->end()) return found->second;
  }
  throw Error("study: method '" + method.name + "' on task '" + task.name + "' says {" + word +
              "}, expected it among the words of one of them");
}

}  // namespace

bool StudyMethod::is_tried_on(const StudyTask& task) const {
  return tasks.empty() || std::ranges::find(tasks, task.name) != tasks.end();
}

Study study_from_json(std::string text, const std::string& file_name) {
  const JsonDocument document(std::move(text), file_name);
  const JsonValue root = document.root();
  check_format(root, "plumbline-study", 2);
  root.allow_only({"format", "version", "seeds", "grid_seeds", "tasks", "methods"});
  Study study;
  study.seeds = root.at("seeds").integer(1, 1000);
  study.grid_seeds = root.at("grid_seeds").integer(1, 1000);
  for (const JsonValue& task : root.at("tasks").elements()) study.tasks.push_back(read_task(task));
  for (const JsonValue& method : root.at("methods").elements()) {
    study.methods.push_back(read_method(method, study.tasks));
  }
  require_distinct(study.tasks, root.at("tasks"));
  require_distinct(study.methods, root.at("methods"));
  if (!study.methods.front().tasks.empty()) {
    root.at("methods").fail("the first method is what others are compared with, expected it on all tasks");
  }
  return study;
}

StudySetting rule_setting(const StudyTask& task, const StudyMethod& method, const std::string& rate) {
  StudySetting setting{.rate = rate, .k = "", .d = ""};
  if (uses(method, "K") && !task.k.empty()) setting.k = task.k.front();
  if (uses(method, "D") && !task.d.empty()) setting.d = task.d.front();
  return setting;
}

std::vector<StudySetting> other_settings(const StudyTask& task, const StudyMethod& method, const std::string& rate) {
  const StudySetting rule = rule_setting(task, method, rate);
  std::vector<StudySetting> settings;
  for (std::size_t i = 1; !rule.k.empty() && i < task.k.size(); ++i) settings.push_back({rate, task.k[i], rule.d});
  for (std::size_t i = 1; !rule.d.empty() && i < task.d.size(); ++i) settings.push_back({rate, rule.k, task.d[i]});
  return settings;
}

std::string study_command(const StudyTask& task, const StudyMethod& method, const StudySetting& setting) {
  const std::string text = method.arguments + " " + task.arguments;
  std::string words;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '{') {
      words += text[at++];
      continue;
    }
    const std::size_t end = std::min(text.find('}', at), text.size());
    words += meaning(text.substr(at + 1, end - at - 1), task, method, setting);
    at = end + 1;
  }
  return "train " + words;
}

}  // namespace plumb
