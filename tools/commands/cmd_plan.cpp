#include <algorithm>
#include <csignal>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tools/ask/jobs_question.hpp"
#include "tools/ask/plan_search_question.hpp"
#include "tools/ask/planner_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/plans/plan_search_text.hpp"
#include "tools/plans/plan_text.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/process_share.hpp"
#include "tools/terminal/progress.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Ctrl-C ends the search, not the program: the best so far is the answer. A second one ends the program.
class InterruptGuard {
 public:
  InterruptGuard()
      : before_(std::signal(SIGINT, [](int) {
          interrupted = 1;
          std::signal(SIGINT, SIG_DFL);
        })) {}
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard() { std::signal(SIGINT, before_); }

 private:
  void (*before_)(int);
};

struct SearchCommand {
  PlanSearchQuestion question;
  OutputFiles files;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        PlanSearchQuestion::kUsage,
        "Finds the fastest configuration that fits: TP/CP/EP/DP degrees, pipeline length, layer split, device\n"
        "order, schedule, microbatch size, recomputation and ZeRO stage. Every candidate is simulated; a lower\nbound "
        "says how much faster any other plan could be. Exit status 3: nothing fits in memory.\n"
        "With --method NAME a published planner runs instead (see `plumbline plan --method NAME --help`); with\n"
        "--jobs FILE several jobs share the cluster (see `plumbline plan --jobs FILE --help`).");
    question.add_to(parser, [&] {
      files.add_to(parser.group("Output"), "output,o", "write the schedule of the best plan")
          .add_to(parser, "json", "write all plans as JSON (- is standard output)")
          .add_to(parser, "html", "write a page that shows the best plans side by side and why they differ");
    });
    const bool goes_on = parse_command_line(parser, arguments);
    question.given = parser.given();
    return goes_on;
  }
};

/// How far a search is, as a line on the terminal for each of its phases.
class SearchProgress {
 public:
  void show(const char* phase, const PlanProgress& so_far) {
    if (phase != phase_) {
      phase_ = phase;
      line_.emplace(phase);
    }
    const std::string remark =
        so_far.best_ns == 0 ? "nothing fits yet"
                            : "best " + time_text(so_far.best_ns) + ", lower bound " + time_text(so_far.bound_ns);
    line_->show(so_far.simulated, so_far.simulated + so_far.open, remark);
  }

  void end() {
    line_.reset();
    phase_ = nullptr;
  }

 private:
  const char* phase_ = nullptr;
  std::optional<Progress> line_;
};

/// Writes and prints what was found.
ExitStatus tell(OutputFiles& files, const PreparedPlanSearch& prepared,
                const std::function<std::string()>& sensitivities) {
  const bool quiet = files.take_standard_output();
  const std::string& output = files.path("output");
  const PlanFile file = output.empty() || output == "-" ? PlanFile{} : PlanFile{.path = output, .written = true};
  files.finish("json", [&] { return plan_answer_json(prepared.question(), prepared.found(), file); });
  if (!prepared.best()) {
    std::cerr << terminal_text(nothing_fits_text(prepared.found())) << "\n";
    if (!quiet) print(prepared.closest());
    return ExitStatus::kNo;
  }
  files.finish("output", [&] { return schedule_to_json(prepared.best()->schedule); });
  files.finish("html", [&] { return plan_page(prepared.question(), prepared.found()); });
  if (quiet) return ExitStatus::kDone;
  print(prepared.text(file));
  print(sensitivities());
  print(prepared.next(file));
  return ExitStatus::kDone;
}

ExitStatus run_search_part(const ProcessShare& share, const CommandLine& command_line) {
  SearchCommand command;
  std::optional<PreparedPlanSearch> prepared;
  share.prepare([&] {
    if (!command.parse(command_line)) return;
    check_document_extension(command.files.path("output"), "-o");
    prepared.emplace(command.question);
    if (share.is_first()) command.files.open();
  });
  if (!prepared) return ExitStatus::kDone;
  const InterruptGuard guard;
  SearchProgress progress;
  const PlanSearchWatch watch{.stop = [] { return interrupted != 0; },
                              .progress =
                                  [&](const char* phase, const PlanProgress& so_far) {
                                    if (share.is_first()) progress.show(phase, so_far);
                                  }};
  prepared->search(watch, share);
  progress.end();
  if (!share.is_first()) return ExitStatus::kDone;
  return tell(command.files, *prepared, [&] {
    std::string text = prepared->sensitivities(watch);
    progress.end();
    return text;
  });
}

ExitStatus run_plan_search(const CommandLine& command_line, RunShared shared) {
  return run_in_job("plan", shared, [&](const ProcessShare& share) { return run_search_part(share, command_line); });
}

ExitStatus run_plan_jobs(const CommandLine& arguments) {
  OptionTable parser(
      JobsQuestion::kUsage,
      "Shares the devices of a cluster out to several whole jobs: how many devices each gets, with which plan, and\n"
      "when it starts, so that all are done as early as possible. Plans are searched for every job and number of\n"
      "devices, as by `plumbline plan`; a lower bound tells how much shorter any other schedule of these plans could\n"
      "be.");
  JobsQuestion question;
  OutputFiles files;
  question.add_to(parser);
  files.add_to(parser.group("Output"), "json", "write the schedule and all plans as JSON (- is standard output)")
      .add_to(parser, "svg", "write a picture: devices, and the jobs on them over time (- is standard output)");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  if (question.file.empty()) throw Error("plan: --jobs: expected a file");
  files.open();
  std::optional<Progress> line(std::in_place, "plan");
  const JobsAnswer answer =
      question.answer([&](std::int64_t done, std::int64_t all, const std::string& job) { line->show(done, all, job); });
  line.reset();
  files.finish("json", [&] { return jobs_json(answer); });
  files.finish("svg", [&] { return jobs_svg(answer); });
  if (!files.take_standard_output()) print(jobs_text(answer));
  return ExitStatus::kDone;
}

bool has_option(const CommandLine& command_line, std::string_view option) {
  return std::ranges::any_of(command_line, [&](const std::string& word) {
    return word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=');
  });
}

}  // namespace

ExitStatus run_plan(const CommandLine& command_line, RunShared shared) {
  if (has_option(command_line, "--jobs")) return run_plan_jobs(command_line);
  const bool asks_planner = has_option(command_line, "--method") || has_option(command_line, "--list");
  if (!asks_planner) return run_plan_search(command_line, shared);
  PlannerQuestion question;
  OutputFiles files;
  bool list = false;
  OptionTable parser(
      PlannerQuestion::kUsage,
      "Runs a published planner: it cuts the network into stages and decides how often to replicate each.\n"
      "`plan --list` lists the planners, what each minimises, and what its paper leaves open.");
  question.add_to(parser, [&] { parser.flag("list", list, "list the planners"); });
  files.add_to(parser.group("Output"), "json", "write the plan, or the list, as JSON (- is standard output)");
  if (!parse_command_line(parser, command_line)) return ExitStatus::kDone;
  files.open();
  if (list) {
    files.finish("json", planners_json);
    if (!files.take_standard_output()) print(planners_text());
    return ExitStatus::kDone;
  }
  const PublishedPlan published = question.answer();
  files.finish("json", [&] { return plan_json(*published.planner, published.problem, published.plan); });
  if (!files.take_standard_output()) print(plan_text(*published.planner, published.problem, published.plan));
  return ExitStatus::kDone;
}

}  // namespace plumb
