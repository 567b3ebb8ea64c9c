#include "tools/ask/simulate_question.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/checks/validation_size.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/prediction/predict.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/memory_relief.hpp"
#include "tools/options/plan_runtimes.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/options/run_options.hpp"
#include "tools/reports/page_data.hpp"
#include "tools/reports/report_limit.hpp"
#include "tools/reports/reports.hpp"
#include "tools/tables/job_fit.hpp"
#include "tools/tables/launch_text.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/tables/what_if.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/terminal.hpp"

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

void SimulateQuestion::add_to(OptionTable& table, const FileOptions& outputs) {
  table.positionals(names, 0, "NAME|FILE,schedule");
  launch.add_to(table);
  size.add_to(table);
  costs.add_to(table);
  add_run_rules_to(table, rules);
  add_order_to(table, order);
  if (outputs) outputs();
  table.group("Questions")
      .flag("peak", peak, "list the tensors that are alive when each device's memory peaks")
      .flag("critical-path", critical_path, "list what kinds of actions the critical path consists of")
      .flag("delays", delays, "list how often each stage reads weights of each age (asynchronous schedules)")
      .texts("what-if", what_if, "KIND=X",
             "predict the makespan if all actions of a kind took X times as long, such as W=0.9");
  if (!outputs) add_picture_style_to(table, style);
}

bool is_drawn(const Schedule& schedule) { return action_count(schedule) <= kMostDrawnActions; }

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
    question.add_to(options, [] {});
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

namespace {

/// What `request` wants of the job, which `question` asked for.
void add_job(const PredictedJob& job, const SimulateQuestion& question, const Request& request,
             AnswerDocument& document) {
  if (request.wants("summary")) document.add_json("summary", timeline_to_json(job.timeline, true));
  if (request.wants("timeline")) {
    document.add_pieces("timeline", [&](const TextSink& sink) { write_timeline_json(job.timeline, false, sink); });
  }
  if (request.wants("page")) {
    document.add_json("page",
                      page_data({.title = job.name, .sections = {{.title = job.name, .first = &job.timeline}}}));
  }
  if (request.wants("text")) {
    const bool drawn = is_drawn(job.run.schedule);
    document.add_text(
        "text", prediction_text(job, question,
                                drawn ? std::optional(TextTimelineOptions{.columns = kDefaultColumns}) : std::nullopt));
  }
  if (request.wants("document")) document.add_json("document", schedule_to_json(job.run.schedule));
  for (const ReportFormat& format : report_formats()) {
    if (!request.wants(format.name)) continue;
    const std::string file = format.make({.steps = {&job.timeline, 1}, .style = question.style});
    format.is_binary ? document.add_bytes(format.name, file) : document.add_text(format.name, file);
  }
}

}  // namespace

std::vector<std::string_view> SimulateQuestion::parts() {
  std::vector<std::string_view> parts{"summary", "timeline", "page", "text", "document"};
  for (const ReportFormat& format : report_formats()) parts.push_back(format.name);
  return parts;
}

void SimulateQuestion::add_parts(const Request& request, AnswerDocument& document) {
  PreparedJob prepared(*this);
  if (!prepared.violations().empty()) {
    document.refuse(prepared.name(), prepared.violations());
    return;
  }
  const bool text = request.wants("text");
  const bool reports = std::ranges::any_of(
      request.want, [](const std::string& part) { return part != "summary" && part != "text" && part != "document"; });
  for (const ReportFormat& format : report_formats()) {
    if (format.limit != nullptr && request.wants(format.name)) {
      check_report(*format.limit, static_cast<std::size_t>(least_spans(prepared.schedule())), true);
    }
  }
  const PredictedJob job =
      prepared.predict({.spans = text && is_drawn(prepared.schedule()), .reports = reports, .tables = text});
  for (const std::string& finding : job.findings) document.findings.push_back(job.name + ": " + finding);
  if (!job.findings.empty()) document.status = ExitStatus::kNo;
  add_job(job, *this, request, document);
}

}  // namespace plumb
