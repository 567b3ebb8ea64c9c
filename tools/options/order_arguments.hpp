#pragma once

#include <optional>
#include <string>

#include "schedules/document/schedule.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

/// Notes that an order was decided at run time with times without contention.
void note_order_without_contention();

/// Options for orders that devices decide at run time, with their lists as priorities.
struct OrderArguments {
  std::string order = "fixed";

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Throws `Error` for an unknown order.
  OrderRule rule() const;
  /// The run that is simulated: `run` itself, or with the order that its devices decide (`decide_order`).
  PreparedRun decide(PreparedRun run) const;

  /// The file called `path` that such an order of `schedule` will be written to; none without a path. Throws `Error`
  /// when the order is fixed, and for a name of another kind of file.
  std::optional<OutputFile> file_for(const Schedule& schedule, const std::string& path) const;
};

}  // namespace plumb
