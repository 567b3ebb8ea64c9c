#include <csignal>
#include <functional>
#include <iostream>
#include <optional>

#include "schedules/document/schedule_io.hpp"
#include "tools/ask/plan_search_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/option_table.hpp"
#include "tools/plans/plan_search_page.hpp"
#include "tools/plans/plan_search_text.hpp"
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
  std::string output;
  std::string json;
  std::string html;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        PlanSearchQuestion::kUsage,
        "Finds the fastest configuration that fits: TP/CP/EP/DP degrees, pipeline length, layer split, device\n"
        "order, schedule, microbatch size, recomputation and ZeRO stage. Every candidate is simulated; a lower\n"
        "bound tells how much faster any other plan could be. Exit status 3: nothing fits in memory.\n"
        "With --method NAME a published planner runs instead (see `plumbline plan --method NAME --help`); with\n"
        "--jobs FILE several jobs share the cluster (see `plumbline plan --jobs FILE --help`).");
    question.add_job_to(parser);
    parser.group("Output")
        .text("output,o", output, "FILE", "write the schedule of the best plan")
        .text("json", json, "FILE", "write all plans as JSON (- is standard output)")
        .text("html", html, "FILE", "write a page that shows the best plans side by side and why they differ");
    question.add_questions_to(parser);
    return parse_command_line(parser, arguments);
  }

  bool quiet() const { return output == "-" || json == "-" || html == "-"; }
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

/// What the first process writes.
struct PlanFiles {
  explicit PlanFiles(const SearchCommand& command) {
    check_distinct_outputs({command.output, command.json, command.html});
    if (!command.output.empty()) schedule.emplace(command.output);
    if (!command.json.empty()) json.emplace(command.json);
    if (!command.html.empty()) html.emplace(command.html);
  }

  std::optional<OutputFile> schedule;
  std::optional<OutputFile> json;
  std::optional<OutputFile> html;
};

/// Writes and prints what was found.
ExitStatus tell(const SearchCommand& command, const PreparedPlanSearch& prepared, const FoundPlans& found,
                PlanFiles& files, const std::function<std::string()>& sensitivities) {
  const PlanShown shown = prepared.shown(command.output);
  if (files.json) files.json->finish(plan_answer_json(prepared.question(), found.answer, shown));
  if (!found.best) {
    std::cerr << terminal_text(nothing_fits_text(found.answer)) << "\n";
    if (!command.quiet()) print(prepared.closest(found));
    return ExitStatus::kNo;
  }
  if (files.schedule) files.schedule->finish(schedule_to_json(found.best->schedule));
  if (files.html) files.html->finish(plan_page(prepared.question(), found.answer));
  if (command.quiet()) return ExitStatus::kDone;
  print(prepared.text(found, shown));
  print(sensitivities());
  return ExitStatus::kDone;
}

ExitStatus run_search_part(const ProcessShare& share, const CommandLine& command_line) {
  SearchCommand command;
  std::optional<PreparedPlanSearch> prepared;
  std::optional<PlanFiles> files;
  share.prepare([&] {
    if (!command.parse(command_line)) return;
    check_document_extension(command.output, "-o");
    prepared.emplace(command.question);
    if (share.is_first()) files.emplace(command);
  });
  if (!prepared) return ExitStatus::kDone;
  const InterruptGuard guard;
  SearchProgress progress;
  const PlanSearchWatch watch{.stop = [] { return interrupted != 0; },
                              .progress =
                                  [&](const char* phase, const PlanProgress& so_far) {
                                    if (share.is_first()) progress.show(phase, so_far);
                                  }};
  const FoundPlans found = prepared->search(watch, share);
  progress.end();
  if (!files) return ExitStatus::kDone;
  return tell(command, *prepared, found, *files, [&] {
    std::string text = prepared->sensitivities(found, watch);
    progress.end();
    return text;
  });
}

}  // namespace

ExitStatus run_plan_search(const CommandLine& command_line, RunShared shared) {
  return run_in_job("plan", shared, [&](const ProcessShare& share) { return run_search_part(share, command_line); });
}

}  // namespace plumb
