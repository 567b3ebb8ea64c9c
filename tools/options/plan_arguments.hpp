#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/planners/problem.hpp"
#include "tools/options/arguments.hpp"

namespace plumb {

/// Options that say what is to be planned: a network, devices, memory, microbatches.
struct PlanArguments {
  std::string network;
  std::string cluster;
  std::string devices;    ///< "16", or "4x8": 4 nodes of 8
  std::string bandwidth;  ///< bytes/s inside a node, and between nodes behind a comma
  std::string speeds;     ///< by device, commas between
  std::string memory;     ///< of a device
  std::optional<std::int64_t> microbatches;
  std::optional<std::int64_t> samples;
  std::vector<std::string> options;  ///< "key=value", of the method

  /// Declares the options; this object must outlive the parsing.
  void add_to(ArgumentParser& parser);
};

/// The problem that the options pose. A network of ours takes its times from the cluster's roofline. Throws `Error` for
/// missing and contradicting options.
PlanProblem plan_problem(const PlanArguments& arguments);

}  // namespace plumb
