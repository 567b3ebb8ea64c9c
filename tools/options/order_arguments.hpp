#pragma once

#include <optional>
#include <string>

#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower.hpp"
#include "tools/options/arguments.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/simulation_arguments.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

/// Notes on standard error that an order was decided at run time with times without contention.
void note_order_without_contention();

/// Options for orders that devices decide at run time, with their lists as priorities.
struct OrderArguments {
  std::string order = "fixed";
  std::string save;

  /// Declares the options; this object must outlive the parsing.
  void add_to(ArgumentParser& parser);

  /// The schedule that a run follows: `schedule` itself, or what its devices decide in a run over `input` (with
  /// buffered messages). Throws `Error` for an unknown order, and when a fixed order is to be saved.
  Schedule resolve(Schedule schedule, const CostInput& input, const SimulationArguments& simulation) const;
};

}  // namespace plumb
