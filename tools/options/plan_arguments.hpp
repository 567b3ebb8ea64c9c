#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/planners/problem.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// Options for the problem of a published planner: a network, devices, memory, microbatches.
struct PlanArguments {
  std::string network;
  std::string cluster;
  std::string devices;    ///< "16", or "4x8": 4 nodes of 8
  std::string bandwidth;  ///< bytes/s inside a node, then a comma and bytes/s between nodes
  std::string speeds;     ///< by device, separated by commas
  std::string memory;     ///< of a device
  std::optional<std::int64_t> microbatches;
  std::optional<std::int64_t> samples;
  std::vector<std::string> options;  ///< "key=value", of the method

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);
};

/// The problem that the options describe. A network document has the times of a job of one device per layer on the
/// cluster. Throws `Error` for missing and contradictory options.
PlanProblem plan_problem(const PlanArguments& arguments);

}  // namespace plumb
