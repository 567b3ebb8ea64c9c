#pragma once

#include <string>

#include "sim/planners/planner.hpp"

namespace plumb {

/// A plan as a small table.
std::string plan_text(const Planner& planner, const PlanProblem& problem, const Plan& plan);

/// The document of a plan: {"format": "plumbline-plan", "version": 1, ...}.
std::string plan_json(const Planner& planner, const PlanProblem& problem, const Plan& plan);

/// The table of methods, and the same as JSON.
std::string planners_text();
std::string planners_json();

}  // namespace plumb
