#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "tools/claims/claims_report.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"
#include "tools/studies/planner_scores.hpp"
#include "tools/studies/planners_study.hpp"
#include "tools/studies/studies.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/progress.hpp"
#include "tools/terminal/results_folder.hpp"

namespace plumb {
namespace {

/// Of one search.
constexpr std::int64_t kSimulations = 8000;

/// All profiles, or those whose path has one of `parts` in it. Refreshes the page when all were asked for.
ExitStatus reproduce_scores(const std::vector<std::string>& parts) {
  const std::filesystem::path path = in_results("planners/scored.json");
  std::vector<ScoredProfile> profiles = scored_profiles(read_text_file(path), path.string());
  std::erase_if(profiles, [&](const ScoredProfile& profile) {
    const auto has = [&](const std::string& part) { return profile.network.find(part) != std::string::npos; };
    return !parts.empty() && std::none_of(parts.begin(), parts.end(), has);
  });
  if (profiles.empty()) throw Error("reproduce planners --scores: no profile has this name, see " + path.string());
  Progress progress("reproduce planners");
  std::vector<ProfileScores> scores;
  for (const ScoredProfile& profile : profiles) {
    progress.show(std::ssize(scores), std::ssize(profiles), profile.network);
    scores.push_back(score_profile(profile, kSimulations));
  }
  const std::filesystem::path page = path.parent_path() / "scores.md";
  const std::string markdown = planner_scores_markdown(scores);
  if (parts.empty()) {
    OutputFile(page.string()).finish(page_with_claims(read_text_file(page), markdown, page.string()));
  }
  print(markdown);
  const auto holds = [](const ProfileScores& one) { return one.holds(); };
  return std::all_of(scores.begin(), scores.end(), holds) ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace

ExitStatus run_reproduce_planners(const CommandLine& command_line) {
  std::vector<std::string> names;
  std::string json;
  bool scores = false;
  OptionTable parser(
      "reproduce planners [CASE]... [options]",
      "Runs the published planners on the inputs of their papers and compares cost and run time with the\n"
      "published programs. Without names, all cases of results/planners/cases.json run and its README is updated.\n"
      "Exit status 3: a plan is worse than the published one, or took more than a tenth of its time.");
  parser.positionals(names, 0, "CASE")
      .text("json", json, "FILE", "write all results as JSON (- is standard output)")
      .flag("scores", scores,
            "instead: simulate every planner's plan for the profiles in results/planners/scored.json and compare it "
            "with the plan of `plumbline plan`; exit status 3: a published planner's plan is faster");
  if (!parse_command_line(parser, command_line)) return ExitStatus::kDone;
  if (scores) return reproduce_scores(names);
  const std::filesystem::path path = in_results("planners/cases.json");
  std::vector<PlannerCase> cases = planner_cases(read_text_file(path), path.string());
  std::vector<std::string_view> known;
  for (const PlannerCase& one : cases) known.push_back(one.id);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) throw_unknown("case", name, known);
  }
  std::optional<OutputFile> file;
  if (!json.empty()) file.emplace(json);
  Progress progress("reproduce planners");
  std::vector<PlannerResult> results;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    if (!names.empty() && std::find(names.begin(), names.end(), cases[k].id) == names.end()) continue;
    progress.show(static_cast<std::int64_t>(k), static_cast<std::int64_t>(cases.size()), cases[k].id);
    results.push_back(run_planner_case(cases[k]));
  }
  const std::filesystem::path page = path.parent_path() / "README.md";
  if (names.empty() && std::filesystem::exists(page)) {
    OutputFile(page.string())
        .finish(page_with_claims(read_text_file(page), planner_results_markdown(results), page.string()));
  }
  if (file) file->finish(planner_results_json(results));
  if (json != "-") print(planner_results_text(results));
  const auto holds = [](const PlannerResult& result) { return result.holds(); };
  return std::all_of(results.begin(), results.end(), holds) ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace plumb
