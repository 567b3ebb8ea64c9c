#include "sim/timeline/timeline_io.hpp"
#include "tools/ask/asked.hpp"
#include "tools/ask/trace_question.hpp"
#include "tools/reports/page_data.hpp"

namespace plumb {
namespace {

constexpr std::string_view kFigures = "summary";
constexpr std::string_view kRunProfile = "profile";
constexpr std::string_view kMeasured = "timeline";
constexpr std::string_view kRunPage = "page";
constexpr std::string_view kTables = "text";
constexpr std::string_view kOrder = "schedule";

class AskedTrace final : public AskedQuestion {
 public:
  AskedTrace() : AskedQuestion(TraceQuestion::kUsage) {
    question_.add_run_to(options_);
    question_.add_knowledge_to(options_);
  }

  std::vector<std::string_view> parts() const override {
    return {kFigures, kRunProfile, kMeasured, kRunPage, kTables, kOrder};
  }

  void answer(const Request& request, AnswerDocument& answer) override {
    const TracedRun run = question_.read();
    const Timeline& timeline = run.timeline();
    if (request.wants(kFigures)) answer.add_json(kFigures, timeline_to_json(timeline, true));
    if (request.wants(kRunProfile)) answer.add_json(kRunProfile, run_profile_to_json(question_.profile(run)));
    if (request.wants(kMeasured)) {
      answer.add_pieces(kMeasured, [&](const TextSink& sink) { write_timeline_json(timeline, false, sink); });
    }
    if (request.wants(kRunPage)) {
      const std::string title = timeline.schedule.empty() ? timeline.machine : timeline.schedule;
      answer.add_json(kRunPage, page_data({.title = title, .sections = {{.title = title, .first = &timeline}}}));
    }
    if (request.wants(kOrder)) answer.add_text(kOrder, traced_schedule(timeline));
    if (request.wants(kTables)) answer.add_text(kTables, traced_text(run));
  }

 private:
  TraceQuestion question_;
};

}  // namespace

AskedQuestionPtr asked_trace() { return std::make_unique<AskedTrace>(); }

}  // namespace plumb
