#include "tools/studies/planners_study.hpp"

#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "sim/planners/planner.hpp"
#include "tools/claims/planner_command.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTimeShare = 0.1;         // of theirs
constexpr double kPrintedDigits = 0.0005;  // a number printed with three decimals

struct TimedPlan {
  Plan plan;
  double seconds = 0;
};

TimedPlan run_plan_command(const std::string& command) {
  const PlannerCommand asked = planner_command(command);
  const std::clock_t start = std::clock();  // planners run on one thread, and other work does not count
  TimedPlan timed{make_plan(*asked.planner, asked.problem), 0};
  timed.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return timed;
}

std::string optional_text(const std::optional<double>& value, int digits) {
  return value ? fixed_text(*value, digits) : "-";
}

std::vector<std::string> cells(const PlannerResult& result) {
  const std::optional<double> theirs = result.asked.published_ms ? result.asked.published_ms : result.baseline_ms;
  std::string ratio = "-";
  if (result.asked.their_seconds) ratio = number_text(*result.asked.their_seconds / std::max(result.seconds, 1e-6), 3);
  return {result.asked.id,
          optional_text(theirs, 3),
          fixed_text(result.ours_ms, 3) + (result.proved ? "" : " *"),
          std::to_string(result.states),
          optional_text(result.asked.their_seconds, 1),
          fixed_text(result.seconds, 3),
          ratio,
          result.holds() ? "yes" : "no"};
}

}  // namespace

bool PlannerResult::holds() const {
  if (asked.published_ms && ours_ms > *asked.published_ms + kPrintedDigits) return false;
  if (baseline_ms && ours_ms > *baseline_ms * (1 + 1e-9)) return false;
  return !asked.their_seconds || seconds <= kTimeShare * *asked.their_seconds;
}

std::vector<PlannerCase> planner_cases(std::string_view json, std::string_view file_name) {
  const JsonDocument document{std::string(json), std::string(file_name)};
  std::vector<PlannerCase> cases;
  for (const JsonValue& item : document.root().elements()) {
    item.allow_only({"id", "source", "command", "baseline", "published_ms", "their_seconds", "note"});
    PlannerCase one;
    one.id = item.at("id").text();
    one.source = item.at("source").text();
    one.command = item.at("command").text();
    if (const auto value = item.find("baseline")) one.baseline = value->text();
    if (const auto value = item.find("published_ms")) one.published_ms = value->number(0);
    if (const auto value = item.find("their_seconds")) one.their_seconds = value->number(0);
    if (const auto value = item.find("note")) one.note = value->text();
    cases.push_back(std::move(one));
  }
  return cases;
}

PlannerResult run_planner_case(const PlannerCase& asked) {
  PlannerResult result{asked, 0, {}, 0, 0, false};
  const TimedPlan ours = run_plan_command(asked.command);
  result.ours_ms = ours.plan.claimed_ns / 1e6;
  result.seconds = ours.seconds;
  result.states = ours.plan.states;
  result.proved = ours.plan.lower_bound_ns >= ours.plan.claimed_ns * (1 - 1e-12);
  if (!asked.baseline.empty()) result.baseline_ms = run_plan_command(asked.baseline).plan.claimed_ns / 1e6;
  return result;
}

std::string planner_results_text(const std::vector<PlannerResult>& results) {
  TextTable table({{"plan"},
                   {"published ms", '>'},
                   {"ours ms", '>'},
                   {"states", '>'},
                   {"published s", '>'},
                   {"our s", '>'},
                   {"faster", '>'},
                   {"holds"}});
  for (const PlannerResult& result : results) table.add_row(cells(result));
  return table.to_string();
}

std::string planner_results_json(const std::vector<PlannerResult>& results) {
  Json rows = Json::array();
  for (const PlannerResult& result : results) {
    Json row{{"id", result.asked.id}, {"command", result.asked.command}, {"ours_ms", result.ours_ms}};
    if (result.asked.published_ms) row["published_ms"] = *result.asked.published_ms;
    if (result.baseline_ms) row["baseline_ms"] = *result.baseline_ms;
    if (result.asked.their_seconds) row["their_seconds"] = *result.asked.their_seconds;
    row["seconds"] = result.seconds;
    row["states"] = result.states;
    row["proved"] = result.proved;
    row["holds"] = result.holds();
    rows.push_back(std::move(row));
  }
  return rows.dump(2) + "\n";
}

std::string planner_results_markdown(const std::vector<PlannerResult>& results) {
  std::string text =
      "| plan | theirs, ms | ours, ms | cut points | their time, s | our time, s | faster by | holds |\n"
      "|---|---:|---:|---:|---:|---:|---:|---|\n";
  for (const PlannerResult& result : results) {
    text += "|";
    for (const std::string& cell : cells(result)) text += " " + cell + " |";
    text += "\n";
  }
  text += "\n";
  for (const PlannerResult& result : results) {
    text += "* `" + result.asked.id + "`: " + result.asked.source + ". `./plumbline " + result.asked.command + "`" +
            (result.asked.note.empty() ? "" : ". " + result.asked.note) + "\n";
  }
  return text;
}

}  // namespace plumb
