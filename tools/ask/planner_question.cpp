#include "tools/ask/planner_question.hpp"

#include <utility>

#include "models/ground/error.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/plans/plan_text.hpp"

namespace plumb {

void PlannerQuestion::add_to(OptionTable& table, const FileOptions& outputs) {
  table.text("method", method, "NAME", "the published planner to run");
  if (outputs) outputs();
  arguments.add_to(table);
}

PublishedPlan PlannerQuestion::answer() const {
  if (method.empty()) throw Error("plan: the planner is missing, expected --method NAME (`plan --list` lists them)");
  const Planner& planner = find_planner(method);
  PlanProblem problem = plan_problem(arguments);
  Plan plan = make_plan(planner, problem);
  return {&planner, std::move(problem), std::move(plan)};
}

void PlannerQuestion::add_parts(const Request& request, AnswerDocument& document) {
  const PublishedPlan published = answer();
  const auto& [planner, problem, plan] = published;
  if (request.wants("plan")) document.add_json("plan", plan_json(*planner, problem, plan));
  if (request.wants("text")) document.add_text("text", plan_text(*planner, problem, plan));
}

}  // namespace plumb
