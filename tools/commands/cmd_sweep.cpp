#include <algorithm>
#include <functional>

#include "models/ground/error.hpp"
#include "tools/ask/sweep_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/reports/report_svg.hpp"
#include "tools/sweep/sweep_run.hpp"
#include "tools/sweep/sweep_table.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/process_share.hpp"
#include "tools/terminal/progress.hpp"

namespace plumb {
namespace {

/// Timelines of a page; further runs are in its diagram and table only.
constexpr std::size_t kMostSections = 24;
/// Timelines on one time axis: as many as can be seen together.
constexpr std::size_t kMostOnCard = 8;

struct SweepArguments {
  SweepQuestion question;
  OutputFiles files;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        SweepQuestion::kUsage,
        "Simulates schedules over ranges of sizes and lists the best choices. NAME is a built-in schedule, 'all' (the\n"
        "default), exec:FILE, a program that prints a schedule, or a schedule file of one of the sizes. A RANGE is\n"
        "2,4,8 or 8:64:8 (from 8 to 64 in steps of 8). --cost takes several lists separated by semicolons,\n"
        "--memory-limit several limits separated by commas. --tp, --dp, --zero and the other degrees take ranges as\n"
        "well.");
    question.add_to(parser, [&] {
      files.add_to(parser, "csv", "one row per simulation (- is standard output)")
          .add_to(parser, "html",
                  "page with bubble against memory, and the timelines where there are at most 24 simulations");
      parser.brief();
    });
    const bool goes_on = parse_command_line(parser, arguments);
    question.given = parser.given();
    return goes_on;
  }

  bool draws() const { return !files.path("html").empty(); }

  SweepPlan plan(const std::vector<SweepPoint>& points) const {
    return question.plan(points, draws() && points.size() <= kMostSections);
  }
};

std::string sweep_page(const std::vector<SweepResult>& results) {
  HtmlReport report{.title = "sweep", .note = {}, .sections = {}, .diagram = svg_plot(sweep_plot(results))};
  std::vector<CardRun> runs;
  for (const SweepResult& result : results) {
    if (!result.timeline) continue;
    runs.push_back({sweep_title(result.point), &*result.timeline, time_words(result.point.cost)});
    report.sections.push_back({.title = runs.back().title, .note = {}, .first = &*result.timeline});
  }
  if (runs.size() > 1 && runs.size() <= kMostOnCard) report.card = svg_picture(comparison_card(runs));
  return html_report(report);
}

/// What the first process writes and prints.
class SweepOutput {
 public:
  explicit SweepOutput(OutputFiles& files) : files_(files) {
    files_.open();
    if (OutputFile* const csv = files_.file("csv")) csv->write(sweep_csv_header());
  }

  void add_row(const SweepResult& result) {
    if (OutputFile* const csv = files_.file("csv")) csv->write(sweep_csv_row(result));
  }

  /// `results`: all of them, whose rows have been added.
  void write(const SweepQuestion& question, const std::vector<SweepResult>& results) {
    check_sweep(results);
    files_.finish("html", [&] { return sweep_page(results); });
    files_.finish("csv", [] { return std::string(); });  // its rows have been added
    if (!files_.take_standard_output()) print(question.text(results));
  }

 private:
  OutputFiles& files_;
};

/// Point i is simulated by process i mod size. Told as soon as they are known, in the order of the points.
std::vector<SweepResult> own_results(const std::vector<SweepPoint>& points, const SweepPlan& plan,
                                     const ProcessShare& share, const std::function<void(const SweepResult&)>& tell) {
  std::vector<SweepPoint> own;
  for (std::size_t i = share.rank; i < points.size(); i += share.size) own.push_back(points[i]);
  std::vector<SweepResult> results;
  std::optional<Progress> progress;
  if (share.is_first()) progress.emplace("sweep");
  sweep_points(own, plan, [&](SweepResult result) {
    tell(result);
    results.push_back(std::move(result));
    if (progress) progress->show(std::ssize(results), std::ssize(own));
  });
  return results;
}

/// The results of all processes in the order of the points, in the first one.
std::vector<SweepResult> gathered_results(const std::vector<SweepPoint>& points, const std::vector<SweepResult>& own,
                                          const ProcessShare& share) {
  const std::vector<std::string> parts = share.gather(sweep_results_to_bytes(own));
  if (!share.is_first()) return {};
  std::vector<SweepResult> results(points.size());
  for (std::size_t rank = 0; rank < share.size; ++rank) {
    std::size_t at = rank;
    for (SweepResult& result : sweep_results_from_bytes(parts[rank])) {
      const std::int32_t chunks = result.point.params.chunks;
      result.point = points[at];
      result.point.params.chunks = chunks;
      results[at] = std::move(result);
      at += share.size;
    }
  }
  return results;
}

ExitStatus run_part(const ProcessShare& share, const CommandLine& command_line) {
  SweepArguments arguments;
  std::vector<SweepPoint> points;
  SweepPlan plan;
  std::optional<SweepOutput> output;
  bool goes_on = false;
  share.prepare([&] {
    goes_on = arguments.parse(command_line);
    if (!goes_on) return;
    with_held_notes([&] {
      points = arguments.question.points();
      plan = arguments.plan(points);
    });
    if (share.size > 1 && arguments.draws()) throw Error("sweep: --html: expected one process, without mpirun");
    if (share.is_first()) output.emplace(arguments.files);
  });
  if (!goes_on) return ExitStatus::kDone;
  const bool alone = share.size == 1;
  std::vector<SweepResult> results = own_results(points, plan, share, [&](const auto& result) {
    if (alone) output->add_row(result);
  });
  if (!alone) results = gathered_results(points, results, share);
  if (!output) return ExitStatus::kDone;
  if (!alone) std::ranges::for_each(results, [&](const SweepResult& result) { output->add_row(result); });
  output->write(arguments.question, results);
  return ExitStatus::kDone;
}

}  // namespace

ExitStatus run_sweep(const CommandLine& command_line, RunShared shared) {
  return run_in_job("sweep", shared, [&](const ProcessShare& share) { return run_part(share, command_line); });
}

}  // namespace plumb
