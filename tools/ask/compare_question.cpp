#include "tools/ask/compare_question.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/ask/request.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/options/run_options.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/reports/report_limit.hpp"
#include "tools/reports/report_pdf.hpp"
#include "tools/reports/report_png.hpp"
#include "tools/reports/report_svg.hpp"
#include "tools/tables/card_text.hpp"
#include "tools/tables/comparison_text.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/terminal.hpp"
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
  table.group("A run against its prediction")
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
            "with --ranking: fail (exit status 3) if the idle share of a device differs by more than this")
      .group("Schedules and runs on one time axis")
      .text("names", names, "LIST", "titles of A, B, ... in pictures, separated by commas");
  add_picture_style_to(table, style);
  size.add_to(table);
  costs.add_to(table);
  add_run_rules_to(table, rules);
}

std::vector<std::string> CompareQuestion::all() const {
  std::vector<std::string> given{first};
  given.insert(given.end(), others.begin(), others.end());
  return given;
}

bool CompareQuestion::has_bounds() const { return memory_exact || !max_error.empty() || !max_noise.empty(); }

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
  NamedRuns named = read_runs(all());
  if (named.traced) {
    throw Error("--ranking: takes timeline documents; `plumbline trace` makes one of the traces of a run");
  }
  std::vector<Timeline>& read = named.runs;
  std::vector<std::pair<Timeline, Timeline>> pairs;
  for (std::size_t i = 0; i + 1 < read.size(); i += 2) pairs.emplace_back(std::move(read[i]), std::move(read[i + 1]));
  return pairs;
}

namespace {

/// What simulations and drawings of a card hold.
constexpr ReportLimit kCardLimit{"comparison", 4'000'000, "`plumbline sweep`, which keeps figures only"};

/// Of several runs of one configuration, such as the steps of traces, the one of median length.
void take_runs(NamedRuns read, CardRuns& into) {
  for (std::size_t begin = 0; begin < read.runs.size();) {
    std::size_t end = begin + 1;
    while (end < read.runs.size() && read.run[end] == read.run[begin]) ++end;
    const std::size_t middle = begin + middle_run(std::span(read.runs).subspan(begin, end - begin));
    Timeline& timeline = read.runs[middle];
    if (timeline.traced) {
      for (const std::string& sentence : timeline.traced->left_out) note(sentence);
    }
    into.titles.push_back(timeline.schedule.empty() ? read.names[begin] : timeline.schedule);
    const std::string folder = std::filesystem::path(read.names[begin]).parent_path().filename().string();
    if (timeline.traced && !folder.empty()) into.titles.back() += " in " + folder;
    into.timelines.push_back(std::move(timeline));
    into.times.emplace_back();
    begin = end;
  }
}

/// Whether `path` is of the same run as the file before: traces of ranks stand in one folder.
bool continues_run(const std::string& before, const std::string& path) {
  return !is_folder(before) && !is_folder(path) &&
         std::filesystem::path(before).parent_path() == std::filesystem::path(path).parent_path();
}

/// Of a schedule, which was given by its name or as a file. `times` becomes how its times are said.
Timeline simulated(SimulateQuestion question, TimeWords& times) {
  PreparedJob job(std::move(question));
  times = time_words(job.source);
  if (!job.violations.empty()) throw CannotRun(job.name + ": " + to_string(job.violations.front()));
  check_report(kCardLimit, static_cast<std::size_t>(least_spans(job.run.schedule)), true);
  job.predict({.spans = true, .reports = true});
  return std::move(job.timeline);
}

/// Whether a schedule is made in the size that is asked for, and not read.
bool is_made_to_size(const std::string& given) { return !file_exists(given) || given.ends_with(kRulesExtension); }

/// Fills in the size of `run` where none is given.
void take_size(const Timeline& run, ScheduleArguments& size) {
  if (!size.devices) size.devices = std::ssize(run.devices);
  if (!size.microbatches) size.microbatches = run.num_microbatches;
}

}  // namespace

std::vector<CardRun> CardRuns::runs() const {
  std::vector<CardRun> all;
  for (std::size_t i = 0; i < timelines.size(); ++i) all.push_back({titles[i], &timelines[i], times[i]});
  return all;
}

bool CompareQuestion::asks_card(bool pictures) const {
  const std::vector<std::string> given = all();
  const auto schedule = std::ranges::find_if(given, is_given_schedule);
  const bool asks = pictures || !names.empty() || schedule != given.end();
  if (asks && has_bounds()) {
    throw Error("--max-error, --max-noise and --memory-exact apply to a run and its prediction, " +
                (schedule == given.end() ? "expected no picture with them" : "but " + *schedule + " is a schedule"));
  }
  return asks;
}

void CompareQuestion::name_runs(CardRuns& runs) const {
  if (!names.empty()) {
    std::vector<std::string> titles = split(names, ',');
    if (titles.size() != runs.titles.size()) {
      throw Error("--names: found " + std::to_string(titles.size()) + " titles of " +
                  std::to_string(runs.titles.size()) + " runs, expected one of each");
    }
    runs.titles = std::move(titles);
    return;
  }
  std::map<std::string, std::size_t> seen;
  for (std::string& title : runs.titles) {
    const std::size_t before = seen[title]++;
    if (before > 0) title += " (" + std::to_string(before + 1) + ")";
  }
}

CardRuns CompareQuestion::card_of(ComparedRuns read) const {
  CardRuns runs{.titles = {read.first.schedule.empty() ? read.first_name : read.first.schedule}, .timelines = {}};
  runs.timelines.push_back(std::move(read.first));
  runs.times.emplace_back();
  take_runs(std::move(read.others), runs);
  name_runs(runs);
  return runs;
}

CardRuns CompareQuestion::read_card() const {
  const std::vector<std::string> given = all();
  std::vector<std::size_t> schedules;
  std::map<std::size_t, CardRuns> read;
  for (std::size_t i = 0; i < given.size();) {
    std::size_t end = i + 1;
    if (is_given_schedule(given[i])) {
      if (!file_exists(given[i])) check_schedule_name(given[i]);
      schedules.push_back(i);
    } else {
      while (end < given.size() && continues_run(given[i], given[end]) && !is_given_schedule(given[end])) ++end;
      take_runs(read_runs(std::span(given).subspan(i, end - i)), read[i]);
    }
    i = end;
  }
  if (!schedules.empty()) simulate_into(given, schedules, read);
  CardRuns runs;
  for (auto& [at, some] : read) {
    std::ranges::move(some.titles, std::back_inserter(runs.titles));
    std::ranges::move(some.timelines, std::back_inserter(runs.timelines));
    std::ranges::copy(some.times, std::back_inserter(runs.times));
  }
  name_runs(runs);
  return runs;
}

void CompareQuestion::simulate_into(const std::vector<std::string>& given, std::vector<std::size_t> schedules,
                                    std::map<std::size_t, CardRuns>& read) const {
  SimulateQuestion asked;
  asked.size = size;
  asked.costs = costs;
  asked.rules = rules;
  asked.size.runs_programs = true;
  for (const auto& [at, some] : read) {
    take_size(some.timelines.front(), asked.size);
    if (some.timelines.front().kind != Timeline::Kind::kMeasured || costs.any()) continue;
    throw Error(given[schedules.front()] +
                ": costs are missing next to a measured run, expected --cost, --network or " +
                "--profile; `plumbline advise` predicts other schedules from traces");
  }
  // Files have a size; what is only named takes theirs.
  std::stable_partition(schedules.begin(), schedules.end(),
                        [&](std::size_t at) { return !is_made_to_size(given[at]); });
  for (const std::size_t at : schedules) {
    const bool made = is_made_to_size(given[at]);
    if (made) asked.size.assume_size(given[at]);
    if (!is_launch_path(given[at])) asked.costs.assume_where_missing();
    SimulateQuestion one = asked;
    one.names = {given[at]};
    if (!made) one.size = {};
    TimeWords times{};
    Timeline timeline = simulated(std::move(one), times);
    if (!made) take_size(timeline, asked.size);
    read[at].titles.push_back(made ? given[at] : timeline.schedule);
    read[at].timelines.push_back(std::move(timeline));
    read[at].times.push_back(times);
  }
}

bool CompareQuestion::shows_card(const ComparedRuns& runs) const {
  if (has_bounds()) return false;
  std::map<Timeline::Kind, std::string> schedules{{runs.first.kind, runs.first.schedule}};
  return std::ranges::any_of(runs.others.runs, [&](const Timeline& run) {
    return schedules.try_emplace(run.kind, run.schedule).first->second != run.schedule;
  });
}

std::string card_page(const CardRuns& compared) {
  const std::vector<CardRun> runs = compared.runs();
  HtmlReport report;
  for (const CardRun& run : runs) report.title += (report.title.empty() ? "" : ", ") + run.title;
  report.card = svg_picture(comparison_card(runs));
  for (const std::size_t at : card_order(runs)) {
    report.sections.push_back({.title = runs[at].title, .first = runs[at].timeline});
  }
  return html_report(report);
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

namespace {

void add_card(const CardRuns& compared, const PictureStyle& style, const Request& request, AnswerDocument& document) {
  const std::vector<CardRun> runs = compared.runs();
  const Card card = comparison_card(runs);
  if (request.wants("comparison")) document.add_json("comparison", card_json(runs));
  if (request.wants("text")) document.add_text("text", card_text(card, {.columns = kDefaultColumns}));
  if (request.wants("html")) document.add_text("html", card_page(compared));
  if (request.wants("svg")) document.add_text("svg", svg_picture(card, style));
  if (request.wants("pdf")) document.add_text("pdf", pdf_picture(card, style, compared.titles.front()));
  if (request.wants("png")) document.add_bytes("png", png_picture(card, style));
}

}  // namespace

void CompareQuestion::add_parts(const Request& request, AnswerDocument& document) {
  if (ranking) {
    add_ranking(*this, request, document);
    return;
  }
  const bool pictures = request.wants("svg") || request.wants("pdf") || request.wants("png");
  if (asks_card(pictures)) {
    add_card(read_card(), style, request, document);
    return;
  }
  const CompareOptions bounds = options();
  ComparedRuns runs = read();
  if (shows_card(runs)) {
    add_card(card_of(std::move(runs)), style, request, document);
    return;
  }
  const Comparison comparison = compare(runs.first, runs.others.runs, bounds);
  document.findings = comparison.findings;
  document.status = status_of(comparison);
  if (request.wants("comparison")) document.add_json("comparison", comparison_to_json(comparison));
  if (request.wants("text")) document.add_text("text", comparison_tables(runs, comparison));
  if (request.wants("html")) document.add_text("html", comparison_page(runs, bounds));
}

}  // namespace plumb
