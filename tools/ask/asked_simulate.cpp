#include <algorithm>
#include <optional>

#include "schedules/document/schedule_io.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tools/ask/asked.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/reports/page_data.hpp"
#include "tools/reports/report_limit.hpp"
#include "tools/reports/reports.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {
namespace {

constexpr std::string_view kSummaryPart = "summary";
constexpr std::string_view kTimelinePart = "timeline";
constexpr std::string_view kPagePart = "page";
constexpr std::string_view kDrawingPart = "text";
constexpr std::string_view kRunPart = "document";

class AskedSimulate final : public AskedQuestion {
 public:
  AskedSimulate() : AskedQuestion(SimulateQuestion::kUsage) {
    question_.add_job_to(options_);
    question_.add_questions_to(options_);
    add_picture_style_to(options_, style_);
  }

  std::vector<std::string_view> parts() const override {
    std::vector<std::string_view> parts{kSummaryPart, kTimelinePart, kPagePart, kDrawingPart, kRunPart};
    for (const ReportFormat& format : report_formats()) parts.push_back(format.name);
    return parts;
  }

  void answer(const Request& request, AnswerDocument& answer) override {
    PreparedJob prepared(question_);
    if (!prepared.violations().empty()) {
      answer.refuse(prepared.name(), prepared.violations());
      return;
    }
    const bool draws = request.wants(kDrawingPart) && prepared.is_drawn();
    const bool reports = std::ranges::any_of(request.want, [](const std::string& part) {
      return part != kSummaryPart && part != kDrawingPart && part != kRunPart;
    });
    for (const ReportFormat& format : report_formats()) {
      if (format.limit != nullptr && request.wants(format.name)) {
        check_report(*format.limit, static_cast<std::size_t>(least_spans(prepared.schedule())), true);
      }
    }
    const PredictedJob job =
        prepared.predict({.spans = draws, .reports = reports, .tables = request.wants(kDrawingPart)});
    for (const std::string& finding : job.findings) answer.findings.push_back(job.name + ": " + finding);
    if (!job.findings.empty()) answer.status = ExitStatus::kNo;
    add_parts(job, draws, request, answer);
  }

 private:
  void add_parts(const PredictedJob& job, bool draws, const Request& request, AnswerDocument& answer) const {
    if (request.wants(kSummaryPart)) answer.add_json(kSummaryPart, timeline_to_json(job.timeline, true));
    if (request.wants(kTimelinePart)) {
      answer.add_pieces(kTimelinePart, [&](const TextSink& sink) { write_timeline_json(job.timeline, false, sink); });
    }
    if (request.wants(kPagePart)) {
      answer.add_json(kPagePart,
                      page_data({.title = job.name, .sections = {{.title = job.name, .first = &job.timeline}}}));
    }
    const std::optional<TextTimelineOptions> drawn =
        draws ? std::optional(TextTimelineOptions{.columns = kDefaultColumns}) : std::nullopt;
    if (request.wants(kDrawingPart)) answer.add_text(kDrawingPart, prediction_text(job, question_, drawn));
    if (request.wants(kRunPart)) answer.add_json(kRunPart, schedule_to_json(job.run.schedule));
    for (const ReportFormat& format : report_formats()) {
      if (!request.wants(format.name)) continue;
      const std::string file = format.make({.steps = {&job.timeline, 1}, .style = style_});
      format.is_binary ? answer.add_bytes(format.name, file) : answer.add_text(format.name, file);
    }
  }

  SimulateQuestion question_;
  PictureStyle style_;
};

}  // namespace

AskedQuestionPtr asked_simulate() { return std::make_unique<AskedSimulate>(); }

}  // namespace plumb
