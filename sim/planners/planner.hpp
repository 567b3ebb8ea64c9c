#pragma once

#include <span>
#include <string_view>

#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"

namespace plumb {

/// A published planner. Adding one: `sim/planners/<name>.cpp`, its declaration in `methods.hpp`, its row in
/// `planner.cpp`, its test.
struct Planner {
  std::string_view name;
  std::string_view paper;
  int year = 0;
  std::string_view minimises;
  std::string_view options;    ///< "memory compression": what `PlanProblem::options` may hold; "" for none
  std::string_view uncertain;  ///< what the sources leave open and how it was decided; "" for nothing
  Plan (*plan)(const PlanProblem& problem);
};

/// All of them, by year.
std::span<const Planner> planners();

/// Throws `Error` for an unknown name, with the nearest one.
const Planner& find_planner(std::string_view name);

/// Runs `planner` after checking the problem and its options. Throws `Error` when there is no plan: the message says
/// why.
Plan make_plan(const Planner& planner, const PlanProblem& problem);

}  // namespace plumb
