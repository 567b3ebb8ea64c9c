#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/plan_search/front_search.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/planner_seeds.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/launch_arguments.hpp"
#include "tools/options/plan_search_arguments.hpp"
#include "tools/plans/launched_plan.hpp"
#include "tools/plans/plan_explain.hpp"
#include "tools/plans/plan_search_page.hpp"
#include "tools/plans/plan_search_text.hpp"
#include "tools/terminal/output_file.hpp"
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
  PlanSearchArguments job;
  LaunchArguments launch;
  std::string output;
  std::string json;
  std::string html;
  bool explain = false;
  bool guide = false;
  bool front = false;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "plan --network N --cluster C --batch B [options]",
        "Finds the fastest configuration that fits: TP/CP/EP/DP degrees, pipeline length, layer split, device\n"
        "order, schedule, microbatch size, recomputation and ZeRO stage. Every candidate is simulated; a lower\n"
        "bound tells how much faster any other plan could be. Exit status 3: nothing fits in memory.\n"
        "With --method NAME a published planner runs instead (see `plumbline plan --method NAME --help`).");
    job.add_to(parser);
    launch.add_to(parser, "from");
    parser.group("Output")
        .text("output,o", output, "FILE", "write the schedule of the best plan")
        .text("json", json, "FILE", "write all plans as JSON (- is standard output)")
        .text("html", html, "FILE", "write a page that shows the best plans side by side and why they differ")
        .flag("explain", explain, "show which resource limits the plan: improve each one in turn and simulate again")
        .flag("front", front, "also find the fastest plan for every smaller number of devices")
        .flag("guide", guide, "print the settings for Megatron-LM and PyTorch (always with --runtime)");
    return parse_command_line(parser, arguments);
  }

  PlanShown shown() const {
    PlanShown shown{.network = job.network.empty() ? launch.file : job.network, .cluster = job.cluster};
    if (!output.empty() && output != "-") {
      shown.document = output;
      shown.written = true;
    }
    const auto repeat = [&](const char* option, const std::string& value) {
      if (!value.empty()) shown.repeated.emplace_back(option, value);
    };
    if (job.sequence) repeat("--sequence", std::to_string(*job.sequence));
    repeat("--precision", job.precision);
    repeat("--rates", job.rates);
    repeat("--memory-limit", job.memory_limit);
    return shown;
  }
};

/// Of the time: what published planners and plans near theirs may take.
constexpr double kSeedShare = 0.4;
/// For every number of devices of a stage and length of the pipeline.
constexpr std::int64_t kFrontSimulations = 100;

PlanEffort effort_of(const PlanSearchArguments& arguments, Progress& progress, double share) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const std::chrono::duration<double> limit(share * arguments.time_limit_s.value_or(60));
  PlanEffort effort;
  if (arguments.simulations) effort.most_simulations = *arguments.simulations;
  effort.stop = [begin, limit] { return interrupted != 0 || Clock::now() >= begin + limit; };
  effort.stop_seeds = [begin, limit] { return interrupted != 0 || Clock::now() >= begin + kSeedShare * limit; };
  effort.progress = [&progress](const PlanProgress& so_far) {
    const std::string remark =
        so_far.best_ns == 0 ? "nothing fits yet"
                            : "best " + time_text(so_far.best_ns) + ", lower bound " + time_text(so_far.bound_ns);
    progress.show(so_far.simulated, so_far.simulated + so_far.open, remark);
  };
  return effort;
}

std::vector<PipelinePlan> plans_of_planners(const PlanQuestion& question, const std::function<bool()>& stop) {
  std::vector<PipelinePlan> plans;
  for (PlannerSeed& seed : planner_seeds(question.job, question.ranges, stop)) plans.push_back(std::move(seed.plan));
  return plans;
}

}  // namespace

ExitStatus run_plan_search(const CommandLine& command_line) {
  SearchCommand command;
  if (!command.parse(command_line)) return ExitStatus::kDone;
  if (command.job.time_limit_s && !(*command.job.time_limit_s > 0)) {
    throw Error("plan: --time-limit: expected seconds above 0");
  }
  check_document_extension(command.output, "-o");
  std::optional<LaunchedPlan> launched;
  if (command.launch.any()) launched = launched_plan(command.launch.read(), command.job);
  const PlanQuestion question = plan_question(command.job);
  check_distinct_outputs({command.output, command.json, command.html});
  std::optional<OutputFile> schedule_file;
  std::optional<OutputFile> json_file;
  std::optional<OutputFile> html_file;
  if (!command.output.empty()) schedule_file.emplace(command.output);
  if (!command.json.empty()) json_file.emplace(command.json);
  if (!command.html.empty()) html_file.emplace(command.html);
  const bool quiet = command.output == "-" || command.json == "-" || command.html == "-";
  const InterruptGuard guard;
  PlanAnswer answer;
  {
    Progress progress("plan");
    PlanEffort effort = effort_of(command.job, progress, 1);
    const std::vector<PipelinePlan> seeds = plans_of_planners(question, effort.stop_seeds);
    if (effort.stop_seeds()) {  // some had no time to answer
      effort.late_seeds = [&] { return plans_of_planners(question, effort.stop); };
    }
    answer = search_plan(question.job, question.ranges, effort, seeds);
  }
  if (command.front) {
    Progress progress("plan: fewer devices");
    PlanEffort effort = effort_of(command.job, progress, 1);
    effort.most_simulations = std::min(effort.most_simulations, kFrontSimulations);
    answer.front = search_front(question.job, question.ranges, effort, answer.front);
  }
  if (json_file) json_file->finish(plan_answer_json(question, answer, command.shown()));
  if (answer.best.empty()) {
    std::cerr << nothing_fits_text(answer) << "\n";
    return ExitStatus::kNo;
  }
  const SimulatedPlan best = simulate_plan(answer.best.front().plan, question.job.price);
  if (schedule_file) schedule_file->finish(schedule_to_json(best.schedule));
  if (html_file) html_file->finish(plan_page(question, answer));
  if (quiet) return ExitStatus::kDone;
  std::string text = plan_answer_text(question, answer, best, command.shown());
  if (launched) text = launched_plan_text(*launched, best) + "\n" + text;
  if (command.guide || question.runtime != nullptr) text += "\n" + plan_guide(question, best);
  print(text);
  if (command.explain) {
    Progress progress("plan: sensitivities");
    const PlanEffort effort = effort_of(command.job, progress, 0.25);
    print("\n" + sensitivities_text(plan_sensitivities(question, best, effort), best.score.step_ns));
  }
  return ExitStatus::kDone;
}

}  // namespace plumb
