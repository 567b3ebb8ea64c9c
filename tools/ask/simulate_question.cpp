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
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/terminal.hpp"
#include "tools/terminal/words.hpp"

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

PreparedJob::PreparedJob(SimulateQuestion asked) : question(std::move(asked)) {
  with_held_notes([this] { prepare(); });
}

void PreparedJob::prepare() {
  SimulateQuestion& asked = question;
  take_launch_file(asked);
  name = only_name(asked);
  asked.costs.job.take_recompute(asked.size.recompute);
  if (!asked.launch.any()) asked.costs.assume_where_missing();
  if (asked.launch.any()) {
    launched = asked.launch.read();
    apply_launch(*launched, {name, asked.size, asked.costs, asked.rules});
  }
  check_schedule_name(name);
  asked.size.assume_size(name);
  source = load_costs(asked.costs);
  const auto devices = static_cast<std::int32_t>(asked.size.devices.value_or(1));
  asked.costs.enlarge_cluster(source, devices);
  run.schedule = load_schedule(name, asked.size, search_goal(asked.costs, source, devices));
  if (is_schedule_file(name)) {
    violations = check_schedule(run.schedule);
    if (!violations.empty()) return;
  }
  asked.costs.enlarge_cluster(source, run.schedule.num_devices);
  PricedPipeline priced = price(source, run.schedule);
  run = prepare_run(std::move(run.schedule), std::move(priced), source, asked.rules);
  note_missing_schedule(run.rules.runtime, name);
  if (asked.peak && run.costs().memory.empty()) {
    throw Error("--peak: abstract costs have no tensors, expected --network NAME or --profile FILE");
  }
  limit = parse_memory_limit(asked.costs, run.costs(), run.schedule);
}

PreparedJob& PreparedJob::predict(const PredictionUse& use) {
  run = with_order(std::move(run), question.order);
  simulate_prepared(use);
  findings = memory_findings(timeline, limit);
  if (use.tables && run.priced.rates && !findings.empty()) {
    const TightJob job{name, question.size, source, limit, run.rules};
    relief = relief_text(memory_reliefs(job, run.schedule, timeline));
  }
  return *this;
}

/// A summary jumps over steady states; every other question needs the whole program.
void PreparedJob::simulate_prepared(const PredictionUse& use) {
  SimOptions options = run.rules.simulation(run.schedule);
  const bool spans = use.spans || use.reports || question.critical_path;
  const bool has_tensors = !run.costs().memory.empty() && run.costs().memory_units_per_one == 0;
  options.peak_composition = question.peak || (has_tensors && spans && (run.priced.rates || use.reports));
  options.spans = spans;
  options.memory_curve = spans;
  options.stash_curve = use.reports && !has_tensors;
  options.on_full_run = note_long_run;
  const bool delays = counts_delays(question.delays, run.schedule);
  const bool whole = spans || question.peak || !question.what_if.empty();
  std::optional<Program> program;
  if (whole || delays) {
    program = program_of(run, options);
    options.on_full_run = nullptr;
  }
  std::vector<WhatIf> changes;
  for (const std::string& text : question.what_if) changes.push_back(parse_what_if(text));
  timeline = whole ? plumb::predict(run, *program, limit, options) : plumb::predict(run, limit, options);
  if (!changes.empty()) what_if = what_if_text(*program, options, timeline.makespan, changes, time_words(source));
  if (delays) timeline.delays = stage_delays(run.schedule, *program);
  const bool is_listed = !is_schedule_file(name) && question.order == OrderRule::kFixed;
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
  reader.question.given = reader.options.given();
  return reader.question;
}

std::string PreparedJob::verdict(TimeWords words) const {
  const std::string step = step_verdict(timeline, words);
  if (!findings.empty()) {
    const std::string of = findings.size() == timeline.devices.size() ? "" : std::to_string(findings.size()) + " of ";
    return "does not fit in the memory of " + of + std::to_string(timeline.devices.size()) + " devices; " + step;
  }
  if (!run.priced.rates && !limit.value) return step + cause_verdict(timeline);
  switch (memory_verdict(timeline, limit)) {
    case MemoryVerdict::kFits:
      return step + "; fits in memory";
    case MemoryVerdict::kTight:
      return step + "; memory is tight";
    default:
      return step;
  }
}

std::string PreparedJob::next() const {
  const GivenOptions& given = question.given;
  if (launched) {
    return "plumbline plan --from " + shell_word(question.launch.file) +
           kept_options(
               given, {"job-set", "job-args", "cluster", "network", "precision", "sequence", "memory-limit", "rates"});
  }
  const AnalyticJob* job = source.job();
  if (job != nullptr && !findings.empty() && !job->network_name.empty()) {
    const std::int64_t batch =
        timeline.num_microbatches / timeline.updates * job->parallelism.microbatch_size * job->parallelism.data;
    return "plumbline plan --network " + shell_word(job->network_name) + " --cluster " + shell_word(job->cluster_name) +
           " --batch " + std::to_string(batch);
  }
  if (name == "-") return "";
  std::vector<std::string_view> left_out{"devices", "microbatches", "chunks", "opt"};
  if (job == nullptr) left_out.push_back("recompute");
  return "plumbline sweep " + (is_schedule_file(name) ? shell_word(name) + " " : "") + "all -p " +
         std::to_string(run.schedule.num_devices) + " -m " +
         std::to_string(timeline.num_microbatches / timeline.updates) + carried_to_sweep(given, left_out);
}

std::string PreparedJob::text(std::optional<TextTimelineOptions> drawn) const {
  const TimeWords words = time_words(source);
  const DeviceWords device_words{.times = words,
                                 .stash_share = limit.stash_share,
                                 .held = question.costs.memory.empty() ? "microbatches" : "units of --memory"};
  std::string text = verdict_text(verdict(words));
  if (launched) text += launch_text(*launched) + "\n";
  text += figures_text(timeline, words) + "\n" + devices_text(timeline, device_words);
  if (!timeline.delays.empty()) text += "\n" + delays_text(timeline.delays);
  if (question.delays) text += "\n" + delay_histogram_text(timeline.delays);
  if (question.peak) text += "\n" + peaks_text(timeline);
  if (question.critical_path) text += "\n" + critical_path_text(timeline, words);
  if (!what_if.empty()) text += "\n" + what_if;
  if (drawn) {
    drawn->times = words;
    text += "\n" + text_timeline(timeline, *drawn);
  }
  if (run.priced.rates) text += "\n" + fit_text(timeline, *run.priced.rates);
  if (launched) text += "\n" + launch_notes_text(*launched);
  if (!relief.empty()) text += "\n" + relief;
  return text + next_text(next());
}

namespace {

/// What `request` wants of the simulated job.
void add_job(const PreparedJob& job, const Request& request, AnswerDocument& document) {
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
    document.add_text("text",
                      job.text(drawn ? std::optional(TextTimelineOptions{.columns = kDefaultColumns}) : std::nullopt));
  }
  if (request.wants("document")) document.add_json("document", schedule_to_json(job.run.schedule));
  for (const ReportFormat& format : report_formats()) {
    if (!request.wants(format.name)) continue;
    const std::string file = format.make({.steps = {&job.timeline, 1}, .style = job.question.style});
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
  PreparedJob job(*this);
  if (!job.violations.empty()) {
    document.refuse(job.name, job.violations);
    return;
  }
  const bool text = request.wants("text");
  const bool reports = std::ranges::any_of(
      request.want, [](const std::string& part) { return part != "summary" && part != "text" && part != "document"; });
  for (const ReportFormat& format : report_formats()) {
    if (format.limit != nullptr && request.wants(format.name)) {
      check_report(*format.limit, static_cast<std::size_t>(least_spans(job.run.schedule)), true);
    }
  }
  job.predict({.spans = text && is_drawn(job.run.schedule), .reports = reports, .tables = text});
  for (const std::string& finding : job.findings) document.findings.push_back(job.name + ": " + finding);
  if (!job.findings.empty()) document.status = ExitStatus::kNo;
  add_job(job, request, document);
}

}  // namespace plumb
