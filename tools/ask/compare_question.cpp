#include "tools/ask/compare_question.hpp"

#include "models/ground/error.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/ask/request.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/tables/comparison_text.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// As much longer than the median one, a traced step counts as disturbed (`calm_steps`).
constexpr double kMostNoise = 0.25;

/// "5%" or "0.05"; nothing when not given.
std::optional<double> bound_share(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  const bool percent = text.ends_with('%');
  const double value = parse_real(percent ? text.substr(0, text.size() - 1) : text, option);
  if (value < 0) throw Error(std::string(option) + ": '" + text + "' is negative, expected a share such as 5%");
  return percent ? value / 100 : value;
}

std::string kind_text(const Timeline& timeline) {
  return timeline.kind == Timeline::Kind::kMeasured ? "measured" : "simulated";
}

/// Only unlike kinds are a prediction and what came of it.
ComparedNames names_of(const Timeline& first, const Timeline& second) {
  if (first.kind == second.kind) return {};
  return {.first = kind_text(first), .second = kind_text(second), .apart = "error"};
}

/// "1f1b, simulated and measured", "1f1b and zb-v"; the file's name when a timeline has none.
std::string pair_title(const Timeline& first, const std::string& first_name, const Timeline& second,
                       const std::string& second_name) {
  const std::string one = first.schedule.empty() ? first_name : first.schedule;
  const std::string other = second.schedule.empty() ? second_name : second.schedule;
  if (one == other && first.kind != second.kind) return one + ", " + kind_text(first) + " and " + kind_text(second);
  return one + " and " + other;
}

}  // namespace

void CompareQuestion::add_to(OptionTable& table, const FileOptions& outputs) {
  table.positional(first, "A,a").positionals(others, 1, "B,b");
  if (outputs) outputs();
  table
      .text("max-error", max_error, "X%",
            "fail (exit status 3) if the model's part of the step time's error is more than this (all of the error "
            "where it cannot be split)")
      .text(
          "max-noise", max_noise, "X%",
          "no answer (exit status 4) if noise, or the difference of several runs, is more than this share of the step "
          "(default: 25% with --max-error)")
      .flag("memory-exact", memory_exact, "fail (exit status 3) if the peak memory of any device differs")
      .flag("ranking", ranking,
            "the files are pairs (predicted, measured, predicted, measured, ...). Checks that configurations rank in "
            "the predicted order; fails (exit status 3) if two are swapped whose predictions differ by more than 2 %")
      .whole("first-step", first_step, {}, "with --ranking: ignore measured steps before this one (default: 0)")
      .text("max-idle", max_idle, "X%",
            "with --ranking: fail (exit status 3) if the idle share of a device differs by more than this");
}

CompareOptions CompareQuestion::options() const {
  if (first_step || !max_idle.empty()) {
    throw Error("--first-step and --max-idle apply to --ranking only, expected --ranking with them");
  }
  CompareOptions options{.max_error = bound_share(max_error, "--max-error"),
                         .max_noise = bound_share(max_noise, "--max-noise"),
                         .memory_exact = memory_exact};
  if (options.max_error && !options.max_noise) options.max_noise = kMostNoise;
  return options;
}

RankingOptions CompareQuestion::ranking_options(bool draws) const {
  if (memory_exact || draws || !max_noise.empty()) {
    throw Error("--ranking: cannot be combined with --memory-exact, --max-noise or --html");
  }
  if (others.size() % 2 == 0) {
    throw Error("--ranking: found " + std::to_string(others.size() + 1) +
                " files, expected pairs: predicted, measured");
  }
  return {.max_error = bound_share(max_error, "--max-error"),
          .max_idle = bound_share(max_idle, "--max-idle"),
          .first_step = first_step.value_or(0)};
}

ComparedRuns CompareQuestion::read() const {
  ComparedRuns runs{.first = read_run(first), .first_name = first, .others = read_runs(others), .files = {first}};
  runs.files.insert(runs.files.end(), others.begin(), others.end());
  return runs;
}

std::vector<std::pair<Timeline, Timeline>> CompareQuestion::read_pairs() const {
  std::vector<std::string> files{first};
  files.insert(files.end(), others.begin(), others.end());
  NamedRuns named = read_runs(files);
  if (named.traced) {
    throw Error("--ranking: takes timeline documents; `plumbline trace` makes one of the traces of a run");
  }
  std::vector<Timeline>& read = named.runs;
  std::vector<std::pair<Timeline, Timeline>> pairs;
  for (std::size_t i = 0; i + 1 < read.size(); i += 2) pairs.emplace_back(std::move(read[i]), std::move(read[i + 1]));
  return pairs;
}

std::string comparison_tables(const ComparedRuns& runs, const Comparison& comparison) {
  return comparison_text(comparison, names_of(runs.first, runs.others.runs.front())) +
         next_text("plumbline compare" + shell_words(runs.files) + " --html comparison.html");
}

std::string comparison_page(const ComparedRuns& compared, const CompareOptions& options) {
  const NamedRuns& others = compared.others;
  const bool several = others.runs.size() > 1;
  const std::size_t middle = middle_run(others.runs);
  CompareOptions shown = options;
  HtmlReport report;
  for (std::size_t i = 0; i < others.runs.size(); ++i) {
    if (several) shown.shown = i;
    report.sections.push_back(
        {.title = pair_title(compared.first, compared.first_name, others.runs[i], others.names[i]),
         .note = compared.first_name + " and " + others.names[i],
         .first = &compared.first,
         .second = &others.runs[i],
         .comparison = compare(compared.first, others.runs, shown),
         .choice = several ? others.short_names[i] : "",
         .chosen = i == middle});
  }
  report.title = report.sections.front().title;
  if (others.traced) report.note = "What another schedule would give: plumbline advise FILES --html advice.html";
  return html_report(report);
}

ExitStatus status_of(const Comparison& comparison) {
  if (comparison.verdict == Verdict::kNoisy) return ExitStatus::kNoAnswer;
  return comparison.verdict == Verdict::kFail ? ExitStatus::kNo : ExitStatus::kDone;
}

namespace {

void add_ranking(const CompareQuestion& question, const Request& request, AnswerDocument& document) {
  const RankingOptions options = question.ranking_options(request.wants("html"));
  const Ranking ranking = rank_runs(question.read_pairs(), options);
  document.findings = ranking.findings;
  if (!ranking.findings.empty()) document.status = ExitStatus::kNo;
  if (request.wants("comparison")) document.add_json("comparison", ranking_to_json(ranking));
  if (request.wants("text")) document.add_text("text", ranking_text(ranking));
}

}  // namespace

void CompareQuestion::add_parts(const Request& request, AnswerDocument& document) {
  if (ranking) {
    add_ranking(*this, request, document);
    return;
  }
  const CompareOptions bounds = options();
  const ComparedRuns runs = read();
  const Comparison comparison = compare(runs.first, runs.others.runs, bounds);
  document.findings = comparison.findings;
  document.status = status_of(comparison);
  if (request.wants("comparison")) document.add_json("comparison", comparison_to_json(comparison));
  if (request.wants("text")) document.add_text("text", comparison_tables(runs, comparison));
  if (request.wants("html")) document.add_text("html", comparison_page(runs, bounds));
}

}  // namespace plumb
