#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "tools/ask/compare_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/reports/report_pdf.hpp"
#include "tools/reports/report_png.hpp"
#include "tools/reports/report_svg.hpp"
#include "tools/tables/card_text.hpp"
#include "tools/tables/comparison_text.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/terminal.hpp"

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

bool wants_picture(const OutputFiles& files) {
  return !files.path("svg").empty() || !files.path("pdf").empty() || !files.path("png").empty();
}

/// Schedules and runs on one time axis.
ExitStatus run_card(const CardRuns& compared, const PictureStyle& style, OutputFiles& files) {
  const std::vector<CardRun> runs = compared.runs();
  const Card card = comparison_card(runs);
  files.finish("html", [&] { return card_page(compared); });
  files.finish("json", [&] { return card_json(runs); });
  files.finish("svg", [&] { return svg_picture(card, style); });
  files.finish("pdf", [&] { return pdf_picture(card, style, compared.titles.front()); });
  files.finish("png", [&] { return png_picture(card, style); });
  if (files.take_standard_output()) return ExitStatus::kDone;
  print(card_text(card, {.columns = terminal_columns(), .colour = wants_colour()}));
  return ExitStatus::kDone;
}

}  // namespace

ExitStatus run_compare(const CommandLine& arguments) {
  OptionTable parser(
      CompareQuestion::kUsage,
      "Draws schedules and runs on one time axis, fastest first, with what makes the others slower. A schedule is a\n"
      "name or a file. A run is a file that `simulate --json`, `train --json` or `trace --json` wrote, or the traces "
      "of\n"
      "PyTorch's profiler, one per rank. A prediction and its runs are compared action by action instead, and so\n"
      "are runs of one schedule. Several B are repeated runs then: A is compared with their median.");
  CompareQuestion question;
  OutputFiles files;
  question.add_to(parser, [&] {
    files.add_to(parser.group("Output"), "html", "write a page that shows all runs in a browser");
    parser.brief();
    files.add_to(parser, "json", "write all figures as JSON (- is standard output)")
        .add_to(parser, "svg", "write a picture of all schedules and runs on one time axis")
        .add_to(parser, "pdf", "the same picture for papers");
    parser.brief("write a picture for papers");
    files.add_to(parser, "png", "the same picture for slides");
  });
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  if (question.ranking) return run_ranking(question, files);
  const CompareOptions options = question.options();
  if (!files.path("png").empty() && !why_no_png().empty()) throw Error("--png: " + std::string(why_no_png()));
  if (question.asks_card(wants_picture(files))) {
    files.open();
    return run_card(question.read_card(), question.style, files);
  }
  ComparedRuns runs = question.read();
  files.open();
  if (question.shows_card(runs)) return run_card(question.card_of(std::move(runs)), question.style, files);
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
