#pragma once

#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"

namespace plumb {

/// The functions behind `planners()`; each is described where it is defined. They expect a checked problem.
Plan plan_pipedream(const PlanProblem& problem);
Plan plan_pipedream_program(const PlanProblem& problem);
Plan plan_dnn_partitioning(const PlanProblem& problem);
Plan plan_piper(const PlanProblem& problem);

}  // namespace plumb
