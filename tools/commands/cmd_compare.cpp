#include <iostream>
#include <optional>

#include "models/ground/error.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/run_files.hpp"
#include "tools/options/option_table.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/tables/comparison_text.hpp"
#include "tools/tables/ranking_text.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// As much longer than the shortest one, a traced step counts as disturbed (`calm_steps`).
constexpr double kMostNoise = 0.25;

struct CompareArguments {
  std::string first;
  std::vector<std::string> others;
  std::string html;
  std::string json;
  std::string max_error;
  std::string max_noise;
  bool memory_exact = false;
  bool ranking = false;
  std::optional<std::int64_t> first_step;
  std::string max_idle;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "compare A B... [options]",
        "Compares timeline A with timeline B, action by action: a prediction with a measurement, or two schedules.\n"
        "A and B are files that `simulate --json`, `train --json` or `trace --json` wrote. Several B are repeated "
        "runs\n"
        "of one configuration; A is then compared with their median. Traces of PyTorch's profiler, one per rank, are\n"
        "read as one run (see `plumbline trace`).");
    parser.positional(first, "A")
        .positionals(others, 1, "B")
        .text("html", html, "FILE", "write a page that shows both in a browser")
        .text("json", json, "FILE", "write all figures as JSON (- is standard output)")
        .text("max-error", max_error, "X%",
              "fail (exit status 3) if the model's part of the step time's error is more than this (all of the error "
              "where it cannot be split)")
        .text("max-noise", max_noise, "X%",
              "no answer (exit status 4) if noise, or the spread of several runs, is more than this share of the step "
              "(default: 25% with --max-error)")
        .flag("memory-exact", memory_exact, "fail (exit status 3) if the peak memory of any device differs")
        .flag("ranking", ranking,
              "the files are pairs (predicted, measured, predicted, measured, ...): check that configurations rank in "
              "the "
              "predicted order; fail (exit status 3) if two whose predictions differ by more than 2 % are swapped")
        .whole("first-step", first_step, {}, "with --ranking: ignore measured steps before this one (default: 0)")
        .text("max-idle", max_idle, "X%",
              "with --ranking: fail (exit status 3) if the idle share of a device differs by more than this");
    return parse_command_line(parser, arguments);
  }

  CompareOptions options() const {
    if (first_step || !max_idle.empty()) {
      throw Error("--first-step and --max-idle apply to --ranking only, expected --ranking with them");
    }
    CompareOptions options{.max_error = share(max_error, "--max-error"),
                           .max_noise = share(max_noise, "--max-noise"),
                           .memory_exact = memory_exact};
    if (options.max_error && !options.max_noise) options.max_noise = kMostNoise;
    return options;
  }

  RankingOptions ranking_options() const {
    if (memory_exact || !html.empty() || !max_noise.empty())
      throw Error("--ranking: cannot be combined with --memory-exact, --max-noise or --html");
    if (others.size() % 2 == 0) {
      throw Error("--ranking: found " + std::to_string(others.size() + 1) +
                  " files, expected pairs: predicted, measured");
    }
    return {.max_error = share(max_error, "--max-error"),
            .max_idle = share(max_idle, "--max-idle"),
            .first_step = first_step.value_or(0)};
  }

 private:
  /// "5%" or "0.05"; nothing when not given.
  static std::optional<double> share(const std::string& text, const char* option) {
    if (text.empty()) return std::nullopt;
    const bool percent = text.ends_with('%');
    const double value = parse_real(percent ? text.substr(0, text.size() - 1) : text, option);
    if (value < 0) throw Error(std::string(option) + ": '" + text + "' is negative, expected a share such as 5%");
    return percent ? value / 100 : value;
  }
};

struct NamedRun {
  Timeline run;
  std::string name;
};

std::string kind_text(const Timeline& timeline) {
  return timeline.kind == Timeline::Kind::kMeasured ? "measured" : "simulated";
}

/// Only unlike kinds are a prediction and what came of it.
ComparedNames names_of(const Timeline& first, const Timeline& second) {
  if (first.kind == second.kind) return {};
  return {.first = kind_text(first), .second = kind_text(second), .apart = "error"};
}

/// "1f1b, simulated and measured", "1f1b and zb-v"; the file's name when a timeline has none.
std::string title(const Timeline& first, const std::string& first_name, const Timeline& second,
                  const std::string& second_name) {
  const std::string one = first.schedule.empty() ? first_name : first.schedule;
  const std::string other = second.schedule.empty() ? second_name : second.schedule;
  if (one == other && first.kind != second.kind) return one + ", " + kind_text(first) + " and " + kind_text(second);
  return one + " and " + other;
}

/// A section for every run; with several, at first the one that stands for all is shown.
std::string page(const NamedRun& first, const NamedRuns& others, CompareOptions options) {
  const bool several = others.runs.size() > 1;
  const std::size_t middle = middle_run(others.runs);
  HtmlReport report;
  for (std::size_t i = 0; i < others.runs.size(); ++i) {
    if (several) options.shown = i;
    report.sections.push_back({.title = title(first.run, first.name, others.runs[i], others.names[i]),
                               .note = first.name + " and " + others.names[i],
                               .first = &first.run,
                               .second = &others.runs[i],
                               .comparison = compare(first.run, others.runs, options),
                               .choice = several ? others.short_names[i] : "",
                               .chosen = i == middle});
  }
  report.title = report.sections.front().title;
  if (others.traced) report.note = "What another schedule would give: plumbline advise FILES --html advice.html";
  return html_report(report);
}

/// Says what was asked for; the rest of the answer is in the tables.
ExitStatus tell_verdict(const Comparison& comparison) {
  for (const std::string& finding : comparison.findings) std::cerr << finding << '\n';
  if (comparison.verdict == Verdict::kNoisy) return ExitStatus::kNoAnswer;
  return comparison.verdict == Verdict::kFail ? ExitStatus::kNo : ExitStatus::kDone;
}

ExitStatus run_ranking(const CompareArguments& arguments) {
  const RankingOptions options = arguments.ranking_options();
  std::vector<std::string> files{arguments.first};
  files.insert(files.end(), arguments.others.begin(), arguments.others.end());
  NamedRuns named = read_runs(files);
  std::vector<Timeline>& read = named.runs;
  if (named.traced)
    throw Error("--ranking: takes timeline documents; `plumbline trace` makes one of the traces of a run");
  std::vector<std::pair<Timeline, Timeline>> runs;
  for (std::size_t i = 0; i + 1 < read.size(); i += 2) runs.emplace_back(std::move(read[i]), std::move(read[i + 1]));
  std::optional<OutputFile> json;
  if (!arguments.json.empty()) json.emplace(arguments.json);
  const Ranking ranking = rank_runs(runs, options);
  if (json) json->finish(ranking_to_json(ranking));
  if (arguments.json != "-") print(ranking_text(ranking));
  for (const std::string& finding : ranking.findings) std::cerr << finding << '\n';
  return ranking.findings.empty() ? ExitStatus::kDone : ExitStatus::kNo;
}

}  // namespace

ExitStatus run_compare(const CommandLine& command_line) {
  CompareArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  if (arguments.ranking) return run_ranking(arguments);
  const CompareOptions options = arguments.options();
  const NamedRun first{read_run(arguments.first), arguments.first};
  const NamedRuns others = read_runs(arguments.others);
  check_distinct_outputs({arguments.html, arguments.json});
  std::optional<OutputFile> html;
  std::optional<OutputFile> json;
  if (!arguments.html.empty()) html.emplace(arguments.html);
  if (!arguments.json.empty()) json.emplace(arguments.json);
  const Comparison comparison = compare(first.run, others.runs, options);
  if (html) html->finish(page(first, others, options));
  if (json) json->finish(comparison_to_json(comparison));
  if (arguments.json != "-" && arguments.html != "-") {
    print(comparison_text(comparison, names_of(first.run, others.runs.front())));
  }
  return tell_verdict(comparison);
}

}  // namespace plumb
