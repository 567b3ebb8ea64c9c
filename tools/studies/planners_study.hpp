#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// One line of results/planners/cases.json: a plan that was published, or that a published program was timed with.
struct PlannerCase {
  std::string id;
  std::string source;
  std::string command;                  ///< "plan --method ..."; paths below results/ are found wherever we are run
  std::string baseline;                 ///< what their program's search finds by the same formula; empty: none
  std::optional<double> published_ms;   ///< their number
  std::optional<double> their_seconds;  ///< how long their program took
  std::string note;
};

/// A case and its result.
struct PlannerResult {
  PlannerCase asked;
  double ours_ms = 0;
  std::optional<double> baseline_ms;
  double seconds = 0;  ///< of processor time
  std::int64_t states = 0;
  bool proved = false;  ///< nothing costs less by the formula

  /// Ours is at most theirs and took at most a tenth of their time.
  bool holds() const;
};

/// Reads the document of cases. Throws `Error` with line, column and path.
std::vector<PlannerCase> planner_cases(std::string_view json, std::string_view file_name);

/// Plans one case.
PlannerResult run_planner_case(const PlannerCase& asked);

std::string planner_results_text(const std::vector<PlannerResult>& results);
std::string planner_results_json(const std::vector<PlannerResult>& results);
/// The table of results/planners/README.md.
std::string planner_results_markdown(const std::vector<PlannerResult>& results);

}  // namespace plumb
