#pragma once

#include <string>

#include "sim/planners/planner.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/plan_arguments.hpp"

namespace plumb {

/// What a published planner answers.
struct PublishedPlan {
  const Planner* planner;  ///< never null
  PlanProblem problem;
  Plan plan;
};

/// A published planner and its problem. Every member has the default of the option that fills it.
struct PlannerQuestion {
  static constexpr const char* kUsage =
      "plan --method NAME --network N (--cluster C | --devices N --bandwidth RATE) [options]";

  std::string method;
  PlanArguments arguments;

  /// Declares `method`; this object must outlive the table.
  void add_method_to(OptionTable& table);

  /// Runs the planner. Throws `Error` for unknown names, and for problems that the planner cannot answer.
  PublishedPlan answer() const;
};

}  // namespace plumb
