#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/planners/planner.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/plan_arguments.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

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

  /// Declares the options; this object must outlive the table. `outputs`: `FileOptions`.
  void add_to(OptionTable& table, const FileOptions& outputs = {});

  /// Runs the planner. Throws `Error` for unknown names, and for problems that the planner cannot answer.
  PublishedPlan answer() const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"plan", "text"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

}  // namespace plumb
