#include "tools/ask/simulate_question.hpp"

#include <cmath>
#include <utility>
#include <variant>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/checks/validation_size.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/options/memory_relief.hpp"
#include "tools/options/order_options.hpp"
#include "tools/options/plan_runtimes.hpp"
#include "tools/options/run_options.hpp"
#include "tools/options/stash_limit.hpp"
#include "tools/tables/delays_text.hpp"
#include "tools/tables/job_fit.hpp"
#include "tools/tables/launch_text.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/tables/what_if.hpp"
#include "tools/terminal/held_notes.hpp"
#include "tools/terminal/long_work.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

/// The table of delays needs the whole program; longer schedules get it only when it is asked for.
constexpr std::int64_t kMostCountedActions = 1'000'000;
constexpr std::int64_t kMostDrawnActions = 20'000;

bool counts_delays(bool asked, const Schedule& schedule) {
  if (asked) return true;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (!schedule.is_synchronous(StageId{stage})) return action_count(schedule) <= kMostCountedActions;
  }
  return false;
}

/// What the search wrote about the order (`add_span_bound`); nothing where it did not.
std::optional<SearchedSpan> searched_span(const Schedule& schedule, Timebase base) {
  const auto ticks = [&](const char* key) -> std::optional<Ticks> {
    const auto found = schedule.parameters.find(key);
    if (found == schedule.parameters.end()) return std::nullopt;
    const auto* ms = std::get_if<double>(&found->second);
    if (ms == nullptr) return std::nullopt;
    return std::llround(*ms * 1e6 * static_cast<double>(base.ticks_per_ns));
  };
  const auto found = ticks("search_span_ms");
  const auto bound = ticks("search_bound_ms");
  if (!found || !bound) return std::nullopt;
  return SearchedSpan{.found = *found, .bound = *bound};
}

std::string only_name(const SimulateQuestion& question) {
  const std::vector<std::string>& names = question.names;
  if (names.empty() && !question.launch.any()) {
    throw Error(std::string("simulate: NAME|FILE is missing, expected: ") + SimulateQuestion::kUsage +
                ", such as: simulate 1f1b -p 4 -m 8");
  }
  const bool is_list = names.size() == 1 && names.front().find(',') != std::string::npos;
  if (names.size() > 1 || (is_list && !is_schedule_file(names.front()))) {
    const std::string what =
        is_list ? "'" + names.front() + "' is a list" : "'" + names[1] + "' is one argument too many";
    throw Error("simulate: " + what + ", expected one schedule; several are compared by `plumbline sweep`");
  }
  return names.empty() ? std::string() : names.front();
}

/// `simulate train.sh` means the job of that launch file.
void take_launch_file(SimulateQuestion& question) {
  if (question.launch.any() || question.names.size() != 1) return;
  const std::string& name = question.names.front();
  if (is_schedule_program(name) || !is_launch_path(name) || !file_exists(name)) return;
  question.launch.file = name;
  question.launch.told = true;
  question.names.clear();
}

/// Where the messages are those of a system that has no such schedule: it would not run in this time, or at all.
void note_missing_schedule(const std::string& runtime, const std::string& name) {
  if (is_schedule_file(name)) return;
  const std::string missing = missing_schedule(runtime, name);
  if (!missing.empty()) note("plumbline: note: " + missing + "; simulated with its rules for messages");
}

}  // namespace

void SimulateQuestion::add_job_to(OptionTable& options) {
  options.positionals(names, 0, "NAME|FILE,schedule");
  launch.add_to(options);
  size.add_to(options);
  costs.add_to(options);
  add_run_rules_to(options, rules);
  add_order_to(options, order);
}

void SimulateQuestion::add_questions_to(OptionTable& options) {
  options.group("Questions")
      .flag("peak", peak, "list the tensors that are alive when each device's memory peaks")
      .flag("critical-path", critical_path, "list what kinds of actions the critical path consists of")
      .flag("delays", delays, "list how often each stage reads weights of each age (asynchronous schedules)")
      .texts("what-if", what_if, "KIND=X",
             "predict the makespan if all actions of a kind took X times as long, such as W=0.9");
}

PreparedJob::PreparedJob(SimulateQuestion question) : question_(std::move(question)) {
  with_held_notes([this] { prepare(); });
}

void PreparedJob::prepare() {
  SimulateQuestion& asked = question_;
  take_launch_file(asked);
  answer_.name = only_name(asked);
  asked.costs.job.take_recompute(asked.size.recompute);
  if (!asked.launch.any()) asked.costs.assume_where_missing();
  if (asked.launch.any()) {
    answer_.launched = asked.launch.read();
    apply_launch(*answer_.launched, {answer_.name, asked.size, asked.costs, asked.rules});
  }
  check_schedule_name(answer_.name);
  asked.size.assume_size(answer_.name);
  source_ = load_costs(asked.costs);
  const auto devices = static_cast<std::int32_t>(asked.size.devices.value_or(1));
  asked.costs.enlarge_cluster(source_, devices);
  answer_.run.schedule = load_schedule(answer_.name, asked.size, search_goal(asked.costs, source_, devices));
  if (is_schedule_file(answer_.name)) {
    answer_.violations = check_schedule(answer_.run.schedule);
    if (!answer_.violations.empty()) return;
  }
  asked.costs.enlarge_cluster(source_, answer_.run.schedule.num_devices);
  PricedPipeline priced = price(source_, answer_.run.schedule);
  answer_.run = prepare_run(std::move(answer_.run.schedule), std::move(priced), source_, asked.rules);
  note_missing_schedule(answer_.run.rules.runtime, answer_.name);
  if (asked.peak && answer_.run.costs().memory.empty()) {
    throw Error("--peak: abstract costs have no tensors, expected --network NAME or --profile FILE");
  }
  answer_.limit = parse_memory_limit(asked.costs, answer_.run.costs(), answer_.run.schedule);
}

bool PreparedJob::is_drawn() const { return action_count(answer_.run.schedule) <= kMostDrawnActions; }

PredictedJob PreparedJob::predict(const PredictionUse& use) {
  answer_.run = with_order(std::move(answer_.run), question_.order);
  simulate_prepared(use);
  answer_.findings = memory_findings(answer_.timeline, answer_.limit);
  if (use.tables && answer_.run.priced.rates && !answer_.findings.empty()) {
    const TightJob job{answer_.name, question_.size, source_, answer_.limit, answer_.run.rules};
    answer_.relief = relief_text(memory_reliefs(job, answer_.run.schedule, answer_.timeline));
  }
  return std::move(answer_);
}

/// A summary jumps over steady states; every other question needs the whole program.
void PreparedJob::simulate_prepared(const PredictionUse& use) {
  const PreparedRun& run = answer_.run;
  SimOptions options = run.rules.simulation(run.schedule);
  const bool spans = use.spans || use.reports || question_.critical_path;
  const bool has_tensors = !run.costs().memory.empty() && run.costs().memory_units_per_one == 0;
  options.peak_composition = question_.peak || (has_tensors && spans && (run.priced.rates || use.reports));
  options.spans = spans;
  options.memory_curve = spans;
  options.stash_curve = use.reports && !has_tensors;
  options.on_full_run = note_long_run;
  const bool delays = counts_delays(question_.delays, run.schedule);
  const bool whole = spans || question_.peak || !question_.what_if.empty();
  std::optional<Program> program;
  if (whole || delays) {
    program = program_of(run, options);
    options.on_full_run = nullptr;
  }
  std::vector<WhatIf> changes;
  for (const std::string& text : question_.what_if) changes.push_back(parse_what_if(text));
  Timeline& timeline = answer_.timeline;
  timeline =
      whole ? plumb::predict(run, *program, answer_.limit, options) : plumb::predict(run, answer_.limit, options);
  if (!changes.empty()) answer_.what_if = what_if_text(*program, options, timeline.makespan, changes);
  if (delays) timeline.delays = stage_delays(run.schedule, *program);
  const bool is_listed = !is_schedule_file(answer_.name) && question_.order == OrderRule::kFixed;
  if (is_listed) timeline.search = searched_span(run.schedule, timeline.base);
}

namespace {

/// A question whose options are declared once: that takes as long as a third of a small simulation.
struct SimulateReader {
  SimulateReader() {
    question.add_job_to(options);
    question.add_questions_to(options);
  }

  SimulateQuestion question;
  OptionTable options{SimulateQuestion::kUsage, ""};
};

}  // namespace

SimulateQuestion simulate_question(const Request& request) {
  thread_local SimulateReader reader;
  reader.question = {};
  take_request(reader.options, request);
  return reader.question;
}

std::string prediction_text(const PredictedJob& job, const SimulateQuestion& question,
                            const std::optional<TextTimelineOptions>& drawn) {
  const Timeline& timeline = job.timeline;
  std::string text = job.launched ? launch_text(*job.launched) + "\n" : "";
  text += figures_text(timeline) + "\n" + devices_text(timeline);
  if (!timeline.delays.empty()) text += "\n" + delays_text(timeline.delays);
  if (question.delays) text += "\n" + delay_histogram_text(timeline.delays);
  if (question.peak) text += "\n" + peaks_text(timeline);
  if (question.critical_path) text += "\n" + critical_path_text(timeline);
  if (!job.what_if.empty()) text += "\n" + job.what_if;
  if (drawn) text += "\n" + text_timeline(timeline, *drawn);
  if (!job.run.priced.rates) return text;
  text += "\n" + fit_text(timeline, *job.run.priced.rates);
  if (job.launched) text += "\n" + launch_notes_text(*job.launched);
  if (!job.relief.empty()) text += "\n" + job.relief;
  return text;
}

}  // namespace plumb
