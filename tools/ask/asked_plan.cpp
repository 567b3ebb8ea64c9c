#include "schedules/document/schedule_io.hpp"
#include "tools/ask/asked.hpp"
#include "tools/ask/plan_search_question.hpp"
#include "tools/ask/planner_question.hpp"
#include "tools/ask/search_question.hpp"
#include "tools/plans/plan_search_page.hpp"
#include "tools/plans/plan_search_text.hpp"
#include "tools/plans/plan_text.hpp"

namespace plumb {
namespace {

constexpr std::string_view kPlanPart = "plan";
constexpr std::string_view kPlanTextPart = "text";

class AskedPlan final : public AskedQuestion {
 public:
  AskedPlan() : AskedQuestion(PlanSearchQuestion::kUsage) {
    question_.add_job_to(options_);
    question_.add_questions_to(options_);
  }

  std::vector<std::string_view> parts() const override { return {kPlanPart, kPlanTextPart, "document", "html"}; }

  void answer(const Request& request, AnswerDocument& answer) override {
    const PreparedPlanSearch prepared(question_);
    const FoundPlans found = prepared.search({});
    const PlanShown shown = prepared.shown("");
    if (request.wants(kPlanPart)) {
      answer.add_json(kPlanPart, plan_answer_json(prepared.question(), found.answer, shown));
    }
    if (!found.best) {
      answer.status = ExitStatus::kNo;
      answer.findings.push_back(nothing_fits_text(found.answer));
      return;
    }
    if (request.wants(kPlanTextPart)) {
      answer.add_text(kPlanTextPart, prepared.text(found, shown) + prepared.sensitivities(found, {}));
    }
    if (request.wants("document")) answer.add_json("document", schedule_to_json(found.best->schedule));
    if (request.wants("html")) answer.add_text("html", plan_page(prepared.question(), found.answer));
  }

 private:
  PlanSearchQuestion question_;
};

class AskedPlanner final : public AskedQuestion {
 public:
  AskedPlanner() : AskedQuestion(PlannerQuestion::kUsage) {
    question_.add_method_to(options_);
    question_.arguments.add_to(options_);
  }

  std::vector<std::string_view> parts() const override { return {kPlanPart, kPlanTextPart}; }

  void answer(const Request& request, AnswerDocument& answer) override {
    const PublishedPlan published = question_.answer();
    const auto& [planner, problem, plan] = published;
    if (request.wants(kPlanPart)) answer.add_json(kPlanPart, plan_json(*planner, problem, plan));
    if (request.wants(kPlanTextPart)) answer.add_text(kPlanTextPart, plan_text(*planner, problem, plan));
  }

 private:
  PlannerQuestion question_;
};

class AskedPlanners final : public AskedQuestion {
 public:
  AskedPlanners() : AskedQuestion("plan --list") {}

  std::vector<std::string_view> parts() const override { return {}; }

  void answer(const Request&, AnswerDocument& answer) override {
    answer.command += " --list";
    answer.add_json("planners", planners_json());
  }
};

class AskedSearch final : public AskedQuestion {
 public:
  AskedSearch() : AskedQuestion(SearchQuestion::kUsage) { question_.add_to(options_); }

  std::vector<std::string_view> parts() const override { return {"search", "text", "document"}; }

  void answer(const Request& request, AnswerDocument& answer) override {
    const OrderSearchAnswer found = question_.answer();
    if (request.wants("search")) answer.add_json("search", order_search_json(found));
    if (found.found.orders.empty()) {
      answer.status = ExitStatus::kNo;
      answer.findings.push_back(no_order_text(found));
      return;
    }
    if (request.wants("text")) answer.add_text("text", order_search_text(found));
    if (request.wants("document")) {
      answer.add_json("document", schedule_to_json(found.found.orders.front().schedule));
    }
  }

 private:
  SearchQuestion question_;
};

}  // namespace

AskedQuestionPtr asked_search() { return std::make_unique<AskedSearch>(); }
AskedQuestionPtr asked_plan() { return std::make_unique<AskedPlan>(); }
AskedQuestionPtr asked_planner() { return std::make_unique<AskedPlanner>(); }
AskedQuestionPtr asked_planners() { return std::make_unique<AskedPlanners>(); }

}  // namespace plumb
