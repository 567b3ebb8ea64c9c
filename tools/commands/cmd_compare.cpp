#include <iostream>
#include <string>
#include <vector>

#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "tools/ask/compare_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/tables/comparison_text.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

/// Says what was asked for; the rest of the answer is in the tables.
void tell(const std::vector<std::string>& findings) {
  for (const std::string& finding : findings) std::cerr << printable(finding) << '\n';
}

ExitStatus run_ranking(const CompareQuestion& question, OutputFiles& files) {
  const RankingOptions options = question.ranking_options(!files.path("html").empty());
  const auto pairs = question.read_pairs();
  files.open();
  const Ranking ranking = rank_runs(pairs, options);
  files.finish("json", [&] { return ranking_to_json(ranking); });
  if (!files.take_standard_output()) print(ranking_text(ranking));
  tell(ranking.findings);
  return ranking.findings.empty() ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace

ExitStatus run_compare(const CommandLine& arguments) {
  OptionTable parser(
      CompareQuestion::kUsage,
      "Compares timeline A with timeline B, action by action: a prediction with a measurement, or two schedules.\n"
      "A and B are files that `simulate --json`, `train --json` or `trace --json` wrote. Several B are repeated runs\n"
      "of one configuration; A is then compared with their median. Traces of PyTorch's profiler, one per rank, are\n"
      "read as one run (see `plumbline trace`).");
  CompareQuestion question;
  OutputFiles files;
  question.add_to(parser, [&] {
    files.add_to(parser, "html", "write a page that shows both in a browser")
        .add_to(parser, "json", "write all figures as JSON (- is standard output)");
  });
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  if (question.ranking) return run_ranking(question, files);
  const CompareOptions options = question.options();
  const ComparedRuns runs = question.read();
  files.open();
  if (const auto& traced = runs.others.runs.front().traced) {
    for (const std::string& sentence : traced->left_out) note(sentence);
  }
  const Comparison comparison = compare(runs.first, runs.others.runs, options);
  files.finish("html", [&] { return comparison_page(runs, options); });
  files.finish("json", [&] { return comparison_to_json(comparison); });
  if (!files.take_standard_output()) print(comparison_tables(runs, comparison));
  tell(comparison.findings);
  return status_of(comparison);
}

}  // namespace plumb
