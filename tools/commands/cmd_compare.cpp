#include <iostream>
#include <optional>

#include "models/ground/error.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "tools/ask/compare_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/tables/ranking_text.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

struct CompareArguments {
  CompareQuestion question;
  std::string html;
  std::string json;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        CompareQuestion::kUsage,
        "Compares timeline A with timeline B, action by action: a prediction with a measurement, or two schedules.\n"
        "A and B are files that `simulate --json`, `train --json` or `trace --json` wrote. Several B are repeated "
        "runs\n"
        "of one configuration; A is then compared with their median. Traces of PyTorch's profiler, one per rank, are\n"
        "read as one run (see `plumbline trace`).");
    question.add_runs_to(parser);
    parser.text("html", html, "FILE", "write a page that shows both in a browser")
        .text("json", json, "FILE", "write all figures as JSON (- is standard output)");
    question.add_bounds_to(parser);
    return parse_command_line(parser, arguments);
  }
};

/// Says what was asked for; the rest of the answer is in the tables.
void tell(const std::vector<std::string>& findings) {
  for (const std::string& finding : findings) std::cerr << printable(finding) << '\n';
}

ExitStatus run_ranking(const CompareArguments& arguments) {
  const RankingOptions options = arguments.question.ranking_options(!arguments.html.empty());
  const auto pairs = arguments.question.read_pairs();
  std::optional<OutputFile> json;
  if (!arguments.json.empty()) json.emplace(arguments.json);
  const Ranking ranking = rank_runs(pairs, options);
  if (json) json->finish(ranking_to_json(ranking));
  if (arguments.json != "-") print(ranking_text(ranking));
  tell(ranking.findings);
  return ranking.findings.empty() ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace

ExitStatus run_compare(const CommandLine& command_line) {
  CompareArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  if (arguments.question.ranking) return run_ranking(arguments);
  const CompareOptions options = arguments.question.options();
  const ComparedRuns runs = arguments.question.read();
  check_distinct_outputs({arguments.html, arguments.json});
  std::optional<OutputFile> html;
  std::optional<OutputFile> json;
  if (!arguments.html.empty()) html.emplace(arguments.html);
  if (!arguments.json.empty()) json.emplace(arguments.json);
  if (const auto& traced = runs.others.runs.front().traced) {
    for (const std::string& sentence : traced->left_out) note(sentence);
  }
  const Comparison comparison = compare(runs.first, runs.others.runs, options);
  if (html) html->finish(comparison_page(runs, options));
  if (json) json->finish(comparison_to_json(comparison));
  if (arguments.json != "-" && arguments.html != "-") print(comparison_tables(runs, comparison));
  tell(comparison.findings);
  return status_of(comparison);
}

}  // namespace plumb
