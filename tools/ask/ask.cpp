#include "tools/ask/ask.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/ask/schedule_question.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/ask/sweep_question.hpp"
#include "tools/ask/validate_question.hpp"
#include "tools/catalogue/catalogue_json.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/reports/page_data.hpp"
#include "tools/reports/reports.hpp"
#include "tools/sweep/sweep_table.hpp"
#include "tools/sweep/sweep_text.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {
namespace {

constexpr std::string_view kSummaryPart = "summary";
constexpr std::string_view kTimelinePart = "timeline";
constexpr std::string_view kPagePart = "page";
constexpr std::string_view kTextPart = "text";
constexpr std::string_view kDocumentPart = "document";

/// Throws `Error` for parts that the question does not have.
void check_wanted(const Request& request, const std::vector<std::string_view>& known) {
  for (const std::string& part : request.want) {
    if (std::ranges::find(known, part) == known.end()) throw_unknown("part of the answer", part, known);
  }
}

void take(const OptionTable& options, const Request& request, AnswerDocument& answer) {
  take_request(options, request);
  answer.command = command_of(options, request);
}

AnswerDocument answer_simulate(const Request& request) {
  std::vector<std::string_view> parts{kSummaryPart, kTimelinePart, kPagePart, kTextPart, kDocumentPart};
  for (const ReportFormat& format : report_formats()) parts.push_back(format.name);
  check_wanted(request, parts);
  OptionTable options(SimulateQuestion::kUsage, "");
  SimulateQuestion question;
  question.add_job_to(options);
  question.add_questions_to(options);
  AnswerDocument answer;
  take(options, request, answer);
  PreparedJob prepared(question);
  if (!prepared.violations().empty()) {
    answer.refuse(prepared.name(), prepared.violations());
    return answer;
  }
  const bool draws = request.wants(kTextPart) && prepared.is_drawn();
  const bool reports = std::ranges::any_of(request.want, [](const std::string& part) {
    return part != kSummaryPart && part != kTextPart && part != kDocumentPart;
  });
  const PredictedJob job = prepared.predict({.spans = draws, .reports = reports});
  for (const std::string& finding : job.findings) answer.findings.push_back(job.name + ": " + finding);
  if (!job.findings.empty()) answer.status = ExitStatus::kNo;
  if (request.want.empty() || request.wants(kSummaryPart)) {
    answer.add_json(kSummaryPart, timeline_to_json(job.timeline, true));
  }
  if (request.wants(kTimelinePart)) answer.add_json(kTimelinePart, timeline_to_json(job.timeline));
  if (request.wants(kPagePart)) {
    answer.add_json(kPagePart,
                    page_data({.title = job.name, .sections = {{.title = job.name, .first = &job.timeline}}}));
  }
  const std::optional<TextTimelineOptions> drawn =
      draws ? std::optional(TextTimelineOptions{.columns = kDefaultColumns}) : std::nullopt;
  if (request.wants(kTextPart)) answer.add_text(kTextPart, prediction_text(job, question, drawn));
  if (request.wants(kDocumentPart)) answer.add_json(kDocumentPart, schedule_to_json(job.schedule));
  for (const ReportFormat& format : report_formats()) {
    if (request.wants(format.name)) answer.add_text(format.name, format.make({.steps = {&job.timeline, 1}}));
  }
  return answer;
}

AnswerDocument answer_schedule(const Request& request) {
  check_wanted(request, {kDocumentPart, kTextPart});
  OptionTable options(ScheduleQuestion::kUsage, "");
  ScheduleQuestion question;
  question.add_to(options);
  AnswerDocument answer;
  take(options, request, answer);
  Schedule schedule = question.load();
  if (const auto violations = check_schedule(schedule); !violations.empty()) {
    answer.refuse(question.name, violations);
    return answer;
  }
  if (question.explain) answer.add_text(kTextPart, question.guide(schedule));
  const ScheduleFormat& format = written_format(question.format, "");
  const auto text = question.explain ? std::nullopt : written_schedule(question.name, format, std::move(schedule));
  if (!text && !question.explain) answer.status = ExitStatus::kNo;
  if (text) answer.add_text(kDocumentPart, *text);
  return answer;
}

AnswerDocument answer_validate(const Request& request) {
  check_wanted(request, {kTextPart});
  OptionTable options(ValidateQuestion::kUsage, "");
  ValidateQuestion question;
  question.add_to(options);
  AnswerDocument answer;
  take(options, request, answer);
  const CheckedSchedule checked = question.check();
  if (!checked.violations.empty()) {
    answer.refuse(question.name, checked.violations);
  } else {
    answer.add_text(kTextPart, valid_text(question.name, checked.schedule));
  }
  return answer;
}

AnswerDocument answer_sweep(const Request& request) {
  check_wanted(request, {"csv", kTextPart});
  OptionTable options(SweepQuestion::kUsage, "");
  SweepQuestion question;
  question.add_points_to(options);
  question.add_costs_to(options);
  AnswerDocument answer;
  take(options, request, answer);
  for (const std::string& name : question.schedules) {
    if (is_schedule_program(name)) throw Error(name + ": a request runs no programs, expected a name or a file");
  }
  const std::vector<SweepPoint> points = question.points();
  std::vector<SweepResult> results;
  sweep_points(points, question.plan(false), [&](SweepResult result) { results.push_back(std::move(result)); });
  check_sweep(results);
  std::string csv(sweep_csv_header());
  for (const SweepResult& result : results) csv += sweep_csv_row(result);
  if (request.want.empty() || request.wants("csv")) answer.add_text("csv", csv);
  if (request.wants(kTextPart)) answer.add_text(kTextPart, sweep_text(results));
  return answer;
}

AnswerDocument answer_schedules(const Request& request) {
  check_wanted(request, {});
  OptionTable options("schedules [NAME]...", "");
  std::vector<std::string> names;
  options.positionals(names, 0, "NAME,schedules");
  AnswerDocument answer;
  take(options, request, answer);
  std::vector<const ScheduleSpec*> rows;
  for (const std::string& name : names) rows.push_back(&schedule_named(name));
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (names.empty()) rows.push_back(&spec);
  }
  answer.add_json("schedules", schedules_json(rows));
  return answer;
}

/// A list of presets, which takes no options.
template <std::string (*kList)()>
AnswerDocument answer_list(const Request& request) {
  check_wanted(request, {});
  OptionTable options(request.ask, "");
  AnswerDocument answer;
  take(options, request, answer);
  answer.add_json(request.ask, kList());
  return answer;
}

struct QuestionKind {
  std::string_view name;
  AnswerDocument (*answer)(const Request& request);
};

constexpr std::array kQuestions{QuestionKind{"clusters", answer_list<clusters_json>},
                                QuestionKind{"networks", answer_list<networks_json>},
                                QuestionKind{"schedule", answer_schedule},
                                QuestionKind{"schedules", answer_schedules},
                                QuestionKind{"simulate", answer_simulate},
                                QuestionKind{"sweep", answer_sweep},
                                QuestionKind{"validate", answer_validate}};

}  // namespace

std::vector<std::string_view> questions() {
  std::vector<std::string_view> names;
  for (const QuestionKind& kind : kQuestions) names.push_back(kind.name);
  return names;
}

Reply reply_to(std::string_view text) {
  const Request request = request_from_json(text);
  const auto kind = std::ranges::find(kQuestions, request.ask, &QuestionKind::name);
  if (kind == kQuestions.end()) throw_unknown("question", request.ask, questions());
  const GivenFiles files(&request.files);
  const CollectedNotes notes;
  const AnswerDocument answer = kind->answer(request);
  return {.status = answer.status, .document = answer.text(notes.lines())};
}

std::string ask(std::string_view request) { return reply_to(request).document; }

}  // namespace plumb
