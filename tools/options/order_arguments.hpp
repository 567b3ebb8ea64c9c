#pragma once

#include <optional>
#include <string>

#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/simulation_arguments.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

/// Notes that an order was decided at run time with times without contention.
void note_order_without_contention();

/// Options for orders that devices decide at run time, with their lists as priorities.
struct OrderArguments {
  std::string order = "fixed";

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// The schedule that a run follows: `schedule` itself, or what its devices decide in a run over `input` (with
  /// buffered messages). Throws `Error` for an unknown order.
  Schedule resolve(Schedule schedule, const CostInput& input, const SimulationArguments& simulation) const;

  /// The file called `path` that such an order of `schedule` will be written to; none without a path. Throws `Error`
  /// when the order is fixed, and for a name of another kind of file.
  std::optional<OutputFile> file_for(const Schedule& schedule, const std::string& path) const;
};

}  // namespace plumb
