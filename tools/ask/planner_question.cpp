#include "tools/ask/planner_question.hpp"

#include <utility>

#include "models/ground/error.hpp"

namespace plumb {

void PlannerQuestion::add_method_to(OptionTable& table) {
  table.text("method", method, "NAME", "the published planner to run");
}

PublishedPlan PlannerQuestion::answer() const {
  if (method.empty()) throw Error("plan: the planner is missing, expected --method NAME (`plan --list` lists them)");
  const Planner& planner = find_planner(method);
  PlanProblem problem = plan_problem(arguments);
  Plan plan = make_plan(planner, problem);
  return {&planner, std::move(problem), std::move(plan)};
}

}  // namespace plumb
